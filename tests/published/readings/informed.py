import subprocess,tomllib,json,sys,collections
repo='/work/w/ci'
def git(*a): return subprocess.run(['git','-C',repo,*a],capture_output=True,text=True).stdout
log=git('log','--reverse','--first-parent','--format=C %H %ad','--date=short','--name-only','ci','--','models','calibration/fits')
# all commits, not first parent only
log=git('log','--reverse','--topo-order','-m','--format=C %H %ad','--date=short','--name-only','ci','--','models','calibration/fits')
seen=collections.OrderedDict(); cur=None
blobs=set(); order=[]
for line in log.splitlines():
    if line.startswith('C '): cur=line.split()[1:3]
    elif line.strip(): order.append((cur[0],cur[1],line.strip()))
print(len(order),file=sys.stderr)
inp='\n'.join(f'{c}:{f}' for c,d,f in order)+'\n'
p=subprocess.Popen(['git','-C',repo,'cat-file','--batch'],stdin=subprocess.PIPE,stdout=subprocess.PIPE)
import threading
threading.Thread(target=lambda:(p.stdin.write(inp.encode()),p.stdin.close())).start()
cache={}
def leaves(t,pre=''):
    for k,v in t.items():
        path=f'{pre}.{k}' if pre else k
        if isinstance(v,dict):
            if 'evidence' in v or 'value' in v: yield path,v
            else: yield from leaves(v,path)
hist=collections.defaultdict(dict)  # (file,path)-> claim-> (first commit, last commit)
last={}
for c,d,f in order:
    h=p.stdout.readline().decode()
    if h.rstrip().endswith('missing'): 
        continue
    sha,kind,n=h.split(); body=p.stdout.read(int(n)); p.stdout.read(1)
    if not f.endswith('.toml') or kind!='blob': continue
    if sha not in cache:
        try: cache[sha]=[(q,v.get('evidence'),tuple(v.get('claims',())),str(v.get('value'))) for q,v in leaves(tomllib.loads(body.decode()))]
        except Exception as e: cache[sha]=[]
    for q,e,cl,val in cache[sha]:
        for one in cl:
            r=hist[(f,q)].setdefault(one,[c,d,c,d,val]); r[2]=c;r[3]=d;r[4]=val
    last[f]={q:(e,cl,val) for q,e,cl,val in cache[sha]}
lost=[]
for (f,q),cl in sorted(hist.items()):
    now=last.get(f,{}).get(q)
    missing={k:v for k,v in cl.items() if not now or k not in now[1]}
    if missing: lost.append((f,q,now,missing))
json.dump(lost,open('/tmp/lost.json','w'))
print(len(hist),len(lost))
for f,q,now,m in lost: print(f,q,now and (now[0],now[2]),sorted(m)[:12],'|',{v[3] for v in m.values()},{v[4] for v in m.values()})
