//! The rows of a timeline: a time axis, lanes in groups, the memory curve.

/// One group of lanes: a kind of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    pub lanes: usize,
    /// A closed group shows its first lane only.
    pub is_open: bool,
}

/// Sizes in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanesOptions {
    /// The height to fill; many lanes need more.
    pub height: i32,
    pub axis: i32,
    /// The row with the name of an open group.
    pub header: i32,
    pub lane_min: i32,
    pub lane_max: i32,
    pub lane_gap: i32,
    /// Room for a name above a lane; without it names stand beside.
    pub name: i32,
    pub group_gap: i32,
    pub curve: i32,
    pub curve_max: i32,
}

impl LanesOptions {
    /// For a page as wide as a tablet or wider.
    pub const WIDE: Self = Self {
        height: 330,
        axis: 22,
        header: 20,
        lane_min: 16,
        lane_max: 32,
        lane_gap: 2,
        name: 0,
        group_gap: 6,
        curve: 120,
        curve_max: 190,
    };

    /// For a phone.
    pub const NARROW: Self = Self {
        height: 260,
        axis: 20,
        header: 18,
        lane_min: 14,
        lane_max: 22,
        lane_gap: 2,
        name: 16,
        group_gap: 4,
        curve: 84,
        curve_max: 130,
    };
}

/// A stretch of the height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    pub top: i32,
    pub bottom: i32,
}

impl Band {
    /// In pixels.
    pub fn height(self) -> i32 {
        self.bottom - self.top
    }
}

/// One lane on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRow {
    pub group: usize,
    /// Number within the group.
    pub lane: usize,
    pub band: Band,
    /// Where its name stands: above it, or beside it.
    pub name: Band,
}

/// Where everything lies, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanesLayout {
    pub height: i32,
    pub axis: Band,
    pub lanes: Vec<LaneRow>,
    /// Names of the open groups.
    pub headers: Vec<(usize, Band)>,
    pub curve: Band,
    /// Where the curve's name stands: above it, or beside it.
    pub curve_name: Band,
}

impl LanesLayout {
    /// Gives the lanes what height there is, within their limits.
    pub fn new(groups: &[GroupSpec], options: LanesOptions) -> Self {
        let shown =
            |group: &GroupSpec| if group.is_open { group.lanes } else { group.lanes.min(1) };
        let rows: i32 = groups.iter().map(|group| shown(group) as i32).sum();
        let open = groups.iter().filter(|group| group.is_open).count() as i32;
        let gaps = rows * options.lane_gap + groups.len() as i32 * options.group_gap;
        let names = (rows + 1) * options.name;
        let fixed = options.axis + options.curve + open * options.header + gaps + names;
        let lane_height = ((options.height - fixed) / rows.max(1))
            .clamp(options.lane_min, options.lane_max.max(options.lane_min));

        let mut top = options.axis;
        let mut layout = Self { axis: Band { top: 0, bottom: top }, ..Self::default() };
        for (group, spec) in groups.iter().enumerate() {
            if spec.is_open {
                layout.headers.push((group, Band { top, bottom: top + options.header }));
                top += options.header;
            }
            for lane in 0..shown(spec) {
                let band =
                    Band { top: top + options.name, bottom: top + options.name + lane_height };
                let name = if options.name > 0 { Band { top, bottom: band.top } } else { band };
                layout.lanes.push(LaneRow { group, lane, band, name });
                top = band.bottom + options.lane_gap;
            }
            top += options.group_gap;
        }
        // What the lanes leave belongs to the curve.
        let left = (options.height - top - options.name)
            .clamp(options.curve, options.curve.max(options.curve_max));
        layout.curve = Band { top: top + options.name, bottom: top + options.name + left };
        layout.curve_name = Band { top, bottom: layout.curve.bottom };
        layout.height = layout.curve.bottom;
        layout
    }

    /// The same on a screen with `ratio` device pixels a pixel.
    pub fn scaled(&self, ratio: f64) -> Self {
        let px = |y: i32| (f64::from(y) * ratio).round() as i32;
        let band = |band: Band| Band { top: px(band.top), bottom: px(band.bottom) };
        Self {
            height: px(self.height),
            axis: band(self.axis),
            lanes: self
                .lanes
                .iter()
                .map(|row| LaneRow { band: band(row.band), name: band(row.name), ..*row })
                .collect(),
            headers: self.headers.iter().map(|(group, header)| (*group, band(*header))).collect(),
            curve: band(self.curve),
            curve_name: band(self.curve_name),
        }
    }

    /// The pixel row of an amount of memory on an axis that ends at `axis_max`.
    pub fn memory_y(&self, bytes: f64, axis_max: f64) -> i32 {
        let share = (bytes / axis_max).clamp(0.0, 1.0);
        let height = f64::from(self.curve.height());
        // What is no number, as on an axis without length, lies at the bottom.
        self.curve.bottom - (share * height).round() as i32
    }

    /// The lane at a height; `slack` pixels around it count as well.
    pub fn lane_at(&self, y: f64, slack: f64) -> Option<&LaneRow> {
        let distance = |row: &LaneRow| {
            (f64::from(row.band.top) - y).max(y - f64::from(row.band.bottom)).max(0.0)
        };
        self.lanes
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .filter(|row| distance(row) <= slack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: GroupSpec = GroupSpec { lanes: 3, is_open: true };
    const CLOSED: GroupSpec = GroupSpec { lanes: 3, is_open: false };

    #[test]
    fn a_closed_group_shows_one_lane_and_no_header() {
        let layout = LanesLayout::new(&[OPEN, CLOSED], LanesOptions::WIDE);
        let rows: Vec<_> = layout.lanes.iter().map(|row| (row.group, row.lane)).collect();
        assert_eq!(rows, [(0, 0), (0, 1), (0, 2), (1, 0)]);
        assert_eq!(layout.headers.len(), 1);
    }

    #[test]
    fn rows_follow_each_other_without_overlap() {
        for options in [LanesOptions::WIDE, LanesOptions::NARROW] {
            for groups in [vec![OPEN], vec![CLOSED; 16], vec![OPEN; 16], vec![]] {
                let layout = LanesLayout::new(&groups, options);
                let mut y = layout.axis.bottom;
                let mut bands: Vec<Band> = layout.lanes.iter().map(|row| row.band).collect();
                bands.extend(layout.headers.iter().map(|header| header.1));
                bands.sort_by_key(|band| band.top);
                for band in bands {
                    assert!(band.top >= y && band.height() >= options.lane_min);
                    y = band.bottom;
                }
                assert!(layout.curve.top >= y);
                assert_eq!(layout.height, layout.curve.bottom);
            }
        }
    }

    #[test]
    fn few_lanes_fit_the_height_and_many_grow_it() {
        assert!(LanesLayout::new(&[OPEN], LanesOptions::NARROW).height <= 260);
        assert!(LanesLayout::new(&[OPEN; 16], LanesOptions::NARROW).height > 700);
    }

    #[test]
    fn the_gap_between_lanes_belongs_to_the_nearest() {
        let layout = LanesLayout::new(&[OPEN], LanesOptions::WIDE);
        let first = layout.lanes[0];
        assert_eq!(layout.lane_at(f64::from(first.band.bottom) + 0.5, 1.0), Some(&first));
        assert_eq!(layout.lane_at(0.0, 1.0), None);
    }
}
