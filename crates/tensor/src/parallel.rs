//! Work on all cores. Callers hand over `dyn` closures: rayon is compiled once here, not once per caller.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Calls `work` with every index below `n`, in no order.
pub fn each(n: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..n).into_par_iter().for_each(work);
}

/// Calls `work` with every item, in no order.
pub fn each_of<T: Send>(items: Vec<T>, work: &(dyn Fn(T) + Sync)) {
    let items: Vec<_> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    each(items.len(), &|i| {
        let item = items[i]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        work(item.expect("each index comes once"));
    });
}

/// What `work` returns for every index below `n`, in the order of the indices.
pub fn map<T: Send>(n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<_> = (0..n).map(|_| Mutex::new(None)).collect();
    each(n, &|i| {
        let result = work(i);
        *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let results = results.into_iter().map(Mutex::into_inner);
    results
        .map(|result| result.ok().flatten().expect("each index was computed"))
        .collect()
}

/// The indices below `n` that `keep` accepts, ascending.
pub fn filter(n: usize, keep: &(dyn Fn(usize) -> bool + Sync)) -> Vec<usize> {
    (0..n).into_par_iter().filter(|&i| keep(i)).collect()
}

/// Calls `work` with the number and the content of every chunk of `size` items; the last may be shorter.
pub fn chunks_mut<T: Send>(items: &mut [T], size: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let chunks = items.par_chunks_mut(size).enumerate();
    chunks.for_each(|(i, chunk)| work(i, chunk));
}

/// Calls both, at the same time if a core is free, and returns what they return.
pub fn join<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut one, mut other) = (Some(one), Some(other));
    let (mut a, mut b) = (None, None);
    both(&mut || a = one.take().map(|work| work()), &mut || {
        b = other.take().map(|work| work())
    });
    let done = "both were called";
    (a.expect(done), b.expect(done))
}

fn both(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    rayon::join(one, other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_comes_once_and_in_its_place() {
        assert_eq!(
            map(1000, |i| i * i),
            (0..1000).map(|i| i * i).collect::<Vec<_>>()
        );
        let mut items = vec![1; 1003];
        chunks_mut(&mut items, 10, &|i, chunk| {
            chunk.iter_mut().for_each(|x| *x += i)
        });
        assert_eq!(items[0], 1);
        assert_eq!(items[1002], 101);
        let seen = Mutex::new(Vec::new());
        each_of(vec!["a", "b", "c"], &|item| seen.lock().unwrap().push(item));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!(filter(10, &|i| i % 4 == 1), [1, 5, 9]);
        assert_eq!(join(|| 1, || "two"), (1, "two"));
    }
}
