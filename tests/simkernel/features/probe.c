/* What Linux 6.1 answered is in recorded_6_1.json.  Built with: gcc -O2 -static probe.c -lbpf -lelf -lz, run as init of the real kernel. */
#include <stdio.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
int main(){ libbpf_set_print(NULL);
 for(int i=1;i<=31;i++) printf("prog %d %d\n",i,libbpf_probe_bpf_prog_type(i,NULL));
 for(int i=1;i<=31;i++) printf("map %d %d\n",i,libbpf_probe_bpf_map_type(i,NULL));
 for(int p=1;p<=31;p++) for(int h=1;h<=211;h++) if(libbpf_probe_bpf_helper(p,h,NULL)==1) printf("helper %d %d\n",p,h);
 return 0;}
