//! tidy
mod finding;
mod items;
mod manifest;
mod mentions;
mod repository;
mod tokens;
mod unreached;

#[test]
fn list() {
    let repository = repository::Repository::load();
    let workspace = repository::Workspace::of(&repository);
    println!("missing {:?}", workspace.missing);
    let t = std::time::Instant::now();
    for f in unreached::check(&repository, &workspace) { println!("{} {}:{}", f.key, f.file, f.line); }
    println!("{:?}", t.elapsed());
}
