//! A store.

use std::fmt;

/// The most.
pub const LIMIT: usize = 10;
static NAME: &str = "}";

pub type Pairs<'a> = Vec<(&'a str, char)>;

/// A store.
#[derive(
    Debug,
    Clone,
)]
#[repr(C)]
pub struct Store<'a, T: Clone> {
    /// Its items.
    pub items: Vec<T>,
    map: HashMap<String, u32>,
    name: &'a str,
}

pub struct Unit;
struct Pair(u32, u32);

pub enum Event {
    Start,
    Move { x: i32, y: i32 },
    Text(String),
}

pub trait Backend: Send + Sync {
    const KIND: u8;
    type Item;
    fn load(&self, key: &str) -> Option<Self::Item>;
    fn name(&self) -> String {
        String::from("{")
    }
}

impl<'a, T: Clone> Store<'a, T> {
    /// Makes one.
    pub fn new(name: &'a str) -> Self {
        let c = '{';
        Self { items: vec![], map: HashMap::new(), name }
    }

    async fn push<F>(&mut self, f: F) -> Result<(), Error>
    where
        F: Fn(T) -> bool,
        T: Send,
    {
        fn inner() {}
        Ok(())
    }
}

impl<'a, T: Clone> fmt::Display for Store<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, r#"{"}"#)
    }
}

macro_rules! square {
    ($x:expr) => {
        $x * $x
    };
}

mod tests {
    use super::*;

    #[test]
    fn works() {
        assert!(true);
    }

    mod deeper {
        pub(crate) unsafe extern "C" fn raw() {}
    }
}

fn broken(a: u32 {
    let x = 1;

fn after() -> u32 {
    2
}
