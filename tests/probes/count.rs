use tcverify::emu::Catalogue;
use tcverify::probe::{Suite, replay};
#[test]
fn count() {
    let t = std::time::Instant::now();
    let mut n=0;
    for arch in Catalogue::builtin().architectures() { for i in &arch.instructions { for r in &i.rules {
        for (j,&[a,b]) in r.operands.iter().enumerate() { if j>1 {n+=1;continue;}
            let t0=std::time::Instant::now();
            let s=Suite::new(a,b,r.accumulator).unwrap();
            let t1=t0.elapsed();
            let ar=tcverify::emu::Arithmetic::of(r,[a,b]);
            let _d=replay::answers(&ar,&s.cases);
            let mut fam=std::collections::BTreeMap::new();
            for c in &s.cases {*fam.entry(c.family).or_insert(0)+=1;}
            println!("{} {} {a}*{b} {} n={} make {:?} replay {:?} {:?}",arch.name,i.name,r.accumulator,s.cases.len(),t1,t0.elapsed()-t1,fam);
            n+=1;
    }}}}
    println!("{n} {:?}",t.elapsed());
}
