//! The calls that a model goes by: of those of a tool the ones that are worded most like the request.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::words;

/// So many of the tool that fits best, each of about thirty tokens.
pub(super) const OF_BEST: usize = 2;
/// So many of another that was found with it.
pub(super) const OF_OTHERS: usize = 1;

/// The `most` calls whose requests share the most words with this one, small words too, because they say what stands where:
/// "from", "to", "called". The nearest is last, where a model looks first.
pub(super) fn nearest(mut calls: Vec<(String, Value)>, said: &str, most: usize) -> Vec<(String, Value)> {
    let mine: BTreeSet<String> = words(said).collect();
    calls.sort_by_cached_key(|(request, _)| {
        let theirs: BTreeSet<String> = words(request).collect();
        let both = mine.intersection(&theirs).count();
        // Dice's coefficient, in thousandths because floats have no order.
        std::cmp::Reverse(2_000 * both / (mine.len() + theirs.len()).max(1))
    });
    calls.truncate(most);
    calls.reverse();
    calls
}

/// All that [`nearest`] may make of the calls of the tool that fits best, whatever is said.
pub(super) fn orders(calls: &[(String, Value)]) -> Vec<Vec<(String, Value)>> {
    let most = OF_BEST.min(calls.len());
    let longer = |orders: Vec<Vec<usize>>| -> Vec<Vec<usize>> {
        let others = |order: Vec<usize>| {
            let others = (0..calls.len()).filter(move |at| !order.contains(at));
            others.collect::<Vec<usize>>()
        };
        let each = orders.into_iter().flat_map(|order| {
            let next = others(order.clone()).into_iter();
            next.map(move |at| [&order[..], &[at]].concat())
        });
        each.collect()
    };
    let orders = (0..most).fold(vec![Vec::new()], |orders, _| longer(orders));
    let calls_of = |order: Vec<usize>| order.into_iter().map(|at| calls[at].clone()).collect();
    orders.into_iter().map(calls_of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_nearest_call_is_last() {
        let call = |said: &str| (said.to_owned(), json!({}));
        let all = || {
            vec![
                call("move the rent to friday"),
                call("rename the plumber to call the electrician"),
                call("Make the report urgent"),
            ]
        };
        let said = |request, most| -> Vec<String> {
            nearest(all(), request, most)
                .into_iter()
                .map(|(said, _)| said)
                .collect()
        };
        assert_eq!(
            said("rename my dentist to call Doctor Stone", 2),
            [
                "move the rent to friday",
                "rename the plumber to call the electrician"
            ]
        );
        assert_eq!(said("make it urgent", 1), ["Make the report urgent"]);
        // Nothing in common: the order of the tool's file.
        assert_eq!(
            said("", 2),
            [
                "rename the plumber to call the electrician",
                "move the rent to friday"
            ]
        );
        assert!(said("make", 0).is_empty());
        // Whatever is said, it is one of the orders.
        let orders = orders(&all());
        assert_eq!(orders.len(), 6);
        for request in [
            "rename my dentist to call Doctor Stone",
            "make it urgent",
            "move it",
            "",
        ] {
            assert!(orders.contains(&nearest(all(), request, OF_BEST)), "{request:?}");
        }
        assert_eq!(super::orders(&[]), [Vec::new()]);
        assert_eq!(super::orders(&all()[..1]).len(), 1);
    }
}
