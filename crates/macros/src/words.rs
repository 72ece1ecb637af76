//! Words that users mistype: what they may have meant.

use proc_macro2::Ident;
use syn::{Error, Path};

/// The known word that a mistyped one is nearest to, if it is near to any.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = word.to_lowercase();
    let near = known
        .iter()
        .map(|known| (distance(&lower, &known.to_lowercase()), *known));
    let (steps, known) = near.min_by_key(|(steps, _)| *steps)?;
    let letters = word.chars().count();
    (steps < letters && steps <= (letters / 3).max(1)).then_some(known)
}

/// What to say of a word that is not known at this place.
pub(crate) fn unknown(path: &Path, known: &[&str]) -> Error {
    let word = path.get_ident().map(Ident::to_string).unwrap_or_default();
    Error::new_spanned(path, not_known(&word, known))
}

/// The same, as text.
pub(crate) fn not_known(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("`{word}` is not known here; did you mean `{near}`?"),
        None => format!("`{word}` is not known here; known are: {}", known.join(", ")),
    }
}

/// How many letters must be changed, added, left out or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, left) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in other.iter().enumerate() {
            let mut steps = (rows[i][j] + usize::from(left != right))
                .min(rows[i][j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *left == other[j - 1] && one[i - 1] == *right {
                steps = steps.min(rows[i - 1][j - 1] + 1);
            }
            row.push(steps);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_of_the_finger_are_near_and_other_words_are_not() {
        let verbs = ["get", "list", "watch", "create"];
        assert_eq!(nearest("gte", &verbs), Some("get"));
        assert_eq!(nearest("Creat", &verbs), Some("create"));
        assert_eq!(nearest("LIST", &verbs), Some("list"));
        assert_eq!(nearest("approve", &verbs), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
