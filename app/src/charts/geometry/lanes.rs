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
    pub group_gap: i32,
    pub curve: i32,
}

impl LanesOptions {
    /// For a page as wide as a tablet or wider.
    pub const WIDE: Self = Self {
        height: 330,
        axis: 22,
        header: 20,
        lane_min: 16,
        lane_max: 30,
        lane_gap: 2,
        group_gap: 6,
        curve: 120,
    };

    /// For a phone.
    pub const NARROW: Self = Self {
        height: 260,
        axis: 20,
        header: 18,
        lane_min: 14,
        lane_max: 26,
        lane_gap: 2,
        group_gap: 4,
        curve: 84,
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

    /// True when the pixel row lies inside.
    pub fn contains(self, y: f64) -> bool {
        y >= f64::from(self.top) && y < f64::from(self.bottom)
    }
}

/// One lane on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRow {
    pub group: usize,
    /// Number within the group.
    pub lane: usize,
    pub band: Band,
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
}

impl LanesLayout {
    /// Gives the lanes what height there is, within their limits.
    pub fn new(groups: &[GroupSpec], options: LanesOptions) -> Self {
        let shown = |group: &GroupSpec| if group.is_open { group.lanes } else { group.lanes.min(1) };
        let rows: i32 = groups.iter().map(|group| shown(group) as i32).sum();
        let open = groups.iter().filter(|group| group.is_open).count() as i32;
        let gaps = rows * options.lane_gap + groups.len() as i32 * options.group_gap;
        let fixed = options.axis + options.curve + open * options.header + gaps;
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
                let band = Band { top, bottom: top + lane_height };
                layout.lanes.push(LaneRow { group, lane, band });
                top = band.bottom + options.lane_gap;
            }
            top += options.group_gap;
        }
        layout.curve = Band { top, bottom: top + options.curve };
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
            lanes: self.lanes.iter().map(|row| LaneRow { band: band(row.band), ..*row }).collect(),
            headers: self.headers.iter().map(|(group, header)| (*group, band(*header))).collect(),
            curve: band(self.curve),
        }
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
