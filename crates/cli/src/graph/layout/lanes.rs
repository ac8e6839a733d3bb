//! Lanes: long edges run vertically next to the flow, each at a distance where it meets no other.

/// The edges to one target. They share a lane.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bus {
    pub(super) to: usize,
    top: f64,
    bottom: f64,
}

impl Bus {
    /// Adds an edge between two heights to the bus of its target.
    pub(super) fn join(buses: &mut Vec<Self>, to: usize, from_y: f64, to_y: f64) {
        let (top, bottom) = (from_y.min(to_y), from_y.max(to_y));
        match buses.iter_mut().find(|bus| bus.to == to) {
            Some(bus) => {
                bus.top = bus.top.min(top);
                bus.bottom = bus.bottom.max(bottom);
            }
            None => buses.push(Self { to, top, bottom }),
        }
    }

    fn length(&self) -> f64 {
        self.bottom - self.top
    }

    fn meets(&self, other: &Self) -> bool {
        const APART: f64 = 8.0;
        self.top < other.bottom + APART && other.top < self.bottom + APART
    }
}

/// Assigns a lane to each bus, from the flow outwards. Short edges come first, so that few lanes cross.
pub(super) fn lanes(buses: &[Bus]) -> Vec<usize> {
    let mut by_length: Vec<usize> = (0..buses.len()).collect();
    by_length.sort_by(|one, other| buses[*one].length().total_cmp(&buses[*other].length()));
    let mut taken: Vec<Vec<usize>> = Vec::new();
    let mut lanes = vec![0; buses.len()];
    for bus in by_length {
        let free = taken.iter().position(|lane| lane.iter().all(|other| !buses[*other].meets(&buses[bus])));
        let lane = free.unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(Vec::new());
        }
        taken[lane].push(bus);
        lanes[bus] = lane;
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_that_meet_have_lanes_of_their_own_and_the_short_one_is_inside() {
        let mut buses = Vec::new();
        for (to, from_y, to_y) in [(0, 300.0, 0.0), (1, 200.0, 100.0), (2, 500.0, 400.0), (1, 250.0, 100.0)] {
            Bus::join(&mut buses, to, from_y, to_y);
        }
        assert_eq!(lanes(&buses), [1, 0, 0]);
    }
}
