//! Parameters of one rank: the tensors that train, by shape, and what is frozen.

/// What an optimizer may make of a tensor's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParameterRole {
    /// The weight of a matrix product inside the model.
    Matrix,
    /// A table over the vocabulary, positions or segments, and the head.
    Table,
    /// A bias or the weight of a norm.
    Vector,
}

/// The shape of one parameter tensor on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParameterTensor {
    pub role: ParameterRole,
    /// 1 for a vector.
    pub rows: u64,
    pub columns: u64,
}

impl ParameterTensor {
    /// A weight `[rows, columns]`.
    pub const fn matrix(rows: u64, columns: u64) -> Self {
        Self { role: ParameterRole::Matrix, rows, columns }
    }

    /// A table `[rows, columns]`.
    pub const fn table(rows: u64, columns: u64) -> Self {
        Self { role: ParameterRole::Table, rows, columns }
    }

    /// A vector `[length]`.
    pub const fn vector(length: u64) -> Self {
        Self { role: ParameterRole::Vector, rows: 1, columns: length }
    }

    /// Numbers in it.
    pub const fn elements(&self) -> u64 {
        self.rows * self.columns
    }
}

/// Parameters before data-parallel sharding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Tensors that train, and how many of each.
    pub trainable: Vec<(ParameterTensor, u64)>,
    /// Parameters that do not: they have no gradient and no optimizer state.
    pub frozen: u64,
    /// Bytes of the frozen ones as they are stored.
    pub frozen_bytes: u64,
}

impl Parameters {
    /// `count` trainable parameters without a shape.
    pub fn flat(count: u64) -> Self {
        Self { trainable: vec![(ParameterTensor::vector(count), 1)], ..Self::default() }
    }

    /// Trainable parameters.
    pub fn trained(&self) -> u64 {
        self.trainable.iter().map(|(tensor, count)| tensor.elements() * count).sum()
    }

    /// All parameters.
    pub fn total(&self) -> u64 {
        self.trained() + self.frozen
    }

    /// Trainable parameters in the weights of matrix products.
    pub fn in_matrices(&self) -> u64 {
        let matrices =
            self.trainable.iter().filter(|(tensor, _)| tensor.role == ParameterRole::Matrix);
        matrices.map(|(tensor, count)| tensor.elements() * count).sum()
    }

    /// Trainable tensors.
    pub fn tensors(&self) -> u64 {
        self.trainable.iter().map(|(_, count)| count).sum()
    }

    /// Elements of the largest trainable tensor.
    pub fn largest(&self) -> u64 {
        self.trainable.iter().map(|(tensor, _)| tensor.elements()).max().unwrap_or(0)
    }

    /// Adds `times` what `other` has.
    pub fn add(&mut self, other: &Self, times: u64) {
        for (tensor, count) in &other.trainable {
            self.add_tensors(*tensor, count * times);
        }
        self.frozen += other.frozen * times;
        self.frozen_bytes += other.frozen_bytes * times;
    }

    /// Adds `count` tensors of one shape.
    pub fn add_tensors(&mut self, tensor: ParameterTensor, count: u64) {
        match self.trainable.iter_mut().find(|(known, _)| *known == tensor) {
            Some((_, number)) => *number += count,
            None => self.trainable.push((tensor, count)),
        }
    }
}

/// Which ranks hold the same parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// All data-parallel ranks.
    Common,
    /// Those data-parallel ranks that have the same experts.
    Routed,
}

impl ParameterKind {
    /// Both, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Common, Self::Routed];
}

/// One of something for each kind of parameters: the parameters of a rank, the ranks that hold the
/// same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind<T> {
    pub common: T,
    pub routed: T,
}

impl<T> ByKind<T> {
    /// That of one kind.
    pub const fn of(&self, kind: ParameterKind) -> &T {
        match kind {
            ParameterKind::Common => &self.common,
            ParameterKind::Routed => &self.routed,
        }
    }

    /// That of one kind, to be changed.
    pub const fn of_mut(&mut self, kind: ParameterKind) -> &mut T {
        match kind {
            ParameterKind::Common => &mut self.common,
            ParameterKind::Routed => &mut self.routed,
        }
    }
}

impl ByKind<Parameters> {
    /// Adds `times` what `other` has, kind by kind.
    pub fn add(&mut self, other: &Self, times: u64) {
        for kind in ParameterKind::ALL {
            self.of_mut(kind).add(other.of(kind), times);
        }
    }

    /// Both kinds together.
    pub fn together(&self) -> Parameters {
        let mut all = self.common.clone();
        all.add(&self.routed, 1);
        all
    }

    /// All as one kind, for ranks that hold the same of both.
    pub fn as_one_kind(&self) -> Self {
        Self { common: self.together(), routed: Parameters::default() }
    }

    /// Trainable parameters.
    pub fn trained(&self) -> u64 {
        self.common.trained() + self.routed.trained()
    }

    /// Trainable tensors.
    pub fn tensors(&self) -> u64 {
        self.common.tensors() + self.routed.tensors()
    }

    /// Trainable parameters of the fullest shard over `ranks`.
    pub fn trained_shard(&self, ranks: ByKind<u64>) -> u64 {
        let of = |kind| self.of(kind).trained().div_ceil(*ranks.of(kind));
        of(ParameterKind::Common) + of(ParameterKind::Routed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shapes_are_counted_together() {
        let mut layer = Parameters::flat(3);
        layer.add_tensors(ParameterTensor::matrix(4, 5), 2);
        layer.frozen = 7;
        let mut all = layer.clone();
        all.add(&layer, 2);
        assert_eq!(all.trainable.len(), 2);
        assert_eq!((all.trained(), all.total(), all.tensors()), (3 * 43, 3 * 50, 9));
        assert_eq!(all.largest(), 20);
    }
}
