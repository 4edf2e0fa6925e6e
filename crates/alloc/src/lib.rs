//! A write-anywhere block allocator: free maps, allocation areas, consistency points.
