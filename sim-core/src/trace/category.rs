//! What memory is used for.

/// A use of memory. The discriminant is the engine's category number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Category {
    Weights,
    Gradients,
    Optimizer,
    /// Saved in forward for backward, and gradients of activations on their way.
    Activations,
    /// Activations computed again in backward.
    Recompute,
    Logits,
    KvCache,
    /// Gathered parameters, buckets, temporaries of the optimizer step.
    Transient,
    /// Driver context, libraries' workspaces, communicators.
    Runtime,
    /// Reserved by the allocator and not allocated.
    Fragmentation,
}

impl Category {
    pub const COUNT: usize = 10;

    /// All of them, in the order in which bars stack.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Weights,
        Self::Gradients,
        Self::Optimizer,
        Self::Activations,
        Self::Recompute,
        Self::Logits,
        Self::KvCache,
        Self::Transient,
        Self::Runtime,
        Self::Fragmentation,
    ];

    /// The name in reports and in the keys of texts and colours.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
            Self::Recompute => "recompute",
            Self::Logits => "logits",
            Self::KvCache => "kv_cache",
            Self::Transient => "transient",
            Self::Runtime => "runtime",
            Self::Fragmentation => "fragmentation",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_engines_numbers() {
        for (i, category) in Category::ALL.iter().enumerate() {
            assert_eq!(*category as usize, i);
        }
    }
}
