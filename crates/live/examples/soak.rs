//! A soak from the command line, until `strewn torture` has it.
use strewn_live::torture::{Kind, Options, Summary, run};
fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (first, count) = (args[0], args[1]);
    let step = args.get(2).copied().unwrap_or(1);
    let verbose = count == 1;
    if !verbose { std::panic::set_hook(Box::new(|_| {})); }
    let begun = std::time::Instant::now();
    let mut sum = Summary::default();
    let mut failed = 0;
    for seed in (0..count).map(|n| first + n * step) {
        match run(seed, Options { parity: None, verbose }) {
            Ok(s) => sum += s,
            Err(f) => { failed += 1; let mut f = *f; if !verbose { f.injected.clear(); }
                println!("{} {:?} life {} step {}: {} [{}]", f.seed, f.kind, f.life, f.step, f.what, f.array); }
        }
    }
    let _ = Kind::ALL;
    let s = begun.elapsed().as_secs_f64();
    println!("{count} schedules, {failed} failed, {:.0}/s; {sum:?}", count as f64 / s);
}
