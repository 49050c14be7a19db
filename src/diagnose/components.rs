//! Stacks that touch.

use crate::report::Stack;

/// The stacks, sorted by row, in groups that are connected by sides or corners that touch; matrices of `m`
/// rows lie apart.
pub fn components(stacks: &[Stack], m: usize) -> Vec<Vec<Stack>> {
    let mut parent: Vec<usize> = (0..stacks.len()).collect();
    // Stacks that end at or below the row that is examined.
    let mut active: Vec<usize> = Vec::new();
    let mut row = None;
    for (index, stack) in stacks.iter().enumerate() {
        if row != Some(stack.rows[0]) {
            row = Some(stack.rows[0]);
            active.retain(|&other| stacks[other].rows[1] >= stack.rows[0]);
        }
        for &other in &active {
            let [left, right] = stacks[other].columns;
            let same = stacks[other].rows[0] / m == stack.rows[0] / m;
            if same && left <= stack.columns[1] && stack.columns[0] <= right {
                let (one, two) = (root(&mut parent, other), root(&mut parent, index));
                parent[one.max(two)] = one.min(two);
            }
        }
        active.push(index);
    }
    let mut groups: Vec<Vec<Stack>> = stacks.iter().map(|_| Vec::new()).collect();
    for (index, stack) in stacks.iter().enumerate() {
        groups[root(&mut parent, index)].push(*stack);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn root(parent: &mut [usize], mut index: usize) -> usize {
    while parent[index] != index {
        parent[index] = parent[parent[index]];
        index = parent[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_stacks_are_one() {
        let stack = |rows, columns| Stack { rows, columns };
        let all = [
            stack([0, 3], [0, 2]),
            stack([2, 9], [10, 20]),
            // By a corner, and by a side.
            stack([3, 4], [2, 5]),
            stack([4, 5], [3, 4]),
            // A column and a row away.
            stack([6, 7], [8, 9]),
            stack([11, 12], [3, 4]),
        ];
        let found = components(&all, 100);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], [all[0], all[2], all[3]]);
        assert_eq!(components(&all, 3).len(), 5);
    }
}
