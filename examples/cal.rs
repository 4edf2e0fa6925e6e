//! cal
use strewn::*;
fn main(){ let sc=scenario::Scenario::load(std::env::args().nth(1).unwrap()).unwrap(); for c in calibrate(&sc,0,&()).unwrap() { println!("{c:#?}"); } }
