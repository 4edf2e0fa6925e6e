//! probe
use strewn::*;
struct P;
impl Observer for P { fn segment(&self, a: usize, s: &sim::Segment) {
 let sec = s.length_ns as f64/1e9;
 let c=&s.counters; let ops=s.operations as f64;
 println!("{a} seg {} iops {:.1} resp {:.2} p95 {:.1} cpu {:.3} sp {:.3} par {:.3} q {:.2} svc {:.3} reads/op {:.3} data {:.3} edge {:.3} meta {:.3} par {:.3} w/op {:.4} pw/op {:.4} cps {} b2b {} blk/cp {:.0} data/cp {:.0} full {:.3} stall {} dest {} coal {} hit {:.4} laws {:.5} {:.5} {:?}", s.index, ops/sec, s.response.mean_ns/1e6, s.response.p95_ns as f64/1e6, s.processor_busy_ns as f64/s.length_ns as f64, s.data_spindles.utilization(s.length_ns), s.parity_spindles.utilization(s.length_ns), s.data_spindles.mean_queue_depth(s.length_ns), s.data_spindles.mean_service_ns()/1e6, c.spindle_reads() as f64/ops, c.data_reads as f64/ops, c.edge_reads as f64/ops, c.metadata_reads as f64/ops, c.parity_update_reads as f64/ops, c.data_writes as f64/ops, c.parity_writes as f64/ops, c.checkpoints, c.back_to_back_checkpoints, c.checkpoint_blocks as f64/c.checkpoints.max(1) as f64, c.checkpoint_data_blocks as f64/c.checkpoints.max(1) as f64, c.full_stripes as f64/c.stripes_written.max(1) as f64, c.stalled_writes, c.destages, c.coalesced_sectors, c.cache_hits as f64/c.cache_lookups.max(1) as f64, s.laws.littles_law_error, s.laws.utilization_law_error, s.layout.map(|l|(l.file.score,l.file.span,l.rewritten,l.free_space.score)));
}}
fn main(){
 let mut a=std::env::args().skip(1);
 let path=a.next().unwrap(); let mut sc=scenario::Scenario::load(&path).unwrap();
 let mut opt=RunOptions::default();
 for kv in a { let (k,v)=kv.split_once('=').unwrap();
  if k=="quick" {opt.scale_down=v.parse().unwrap();}
  else if k=="segments" {sc.segments=v.parse().unwrap();}
  else if k=="only" {sc.arrays.retain(|x|x.name==v);}
  else { let (arr,p)=k.split_once(':').unwrap(); sc.set_parameter(arr,p,v.parse().unwrap()).unwrap(); } }
 let t=std::time::Instant::now();
 let r=run(&sc,&opt,&P).unwrap();
 println!("{:.1}s", t.elapsed().as_secs_f64());
 for p in &r.published { println!("{} {} rms {:?} worst {}", p.array, p.metric.as_str(), p.predicted_rms_error_percent, p.worst_error_percent); }
}
#[allow(dead_code)] fn cal(){}
