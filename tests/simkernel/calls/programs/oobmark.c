/* Where an urgent byte was read, the next read ends. not: i386 s390x */
#include "tiny.h"
static char buf[100];
int main(int argc, char **argv){ int p[2]; sys(__NR_socketpair,1,1|0x800,0,p);
T(__NR_sendto,p[0],"abc",3,1,0,0); T(__NR_recvfrom,p[1],buf,9,0,0,0); T(__NR_recvfrom,p[1],buf,9,1,0,0); T(__NR_sendto,p[0],"abc",3,0,0,0);
T(__NR_recvfrom,p[1],buf,9,0x40,0,0); T(__NR_recvfrom,p[1],buf,9,0x40,0,0);
T(__NR_sendto,p[0],"abc",3,1,0,0); T(__NR_recvfrom,p[1],buf,9,1,0,0); T(__NR_sendto,p[0],"abc",3,0,0,0); T(__NR_recvfrom,p[1],buf,9,0x40,0,0); T(__NR_recvfrom,p[1],buf,9,0x40,0,0);
T(__NR_sendto,p[0],"a",1,0,0,0);T(__NR_recvfrom,p[1],buf,9,0x2000,0,0);T(__NR_recvfrom,p[1],buf,9,0x2000,0,0);
return 0;}
