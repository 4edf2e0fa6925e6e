//! Strewn's benchmarks, one program each: nothing is here, but a package has a library or a program.
