#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "audit/test-audit.h"
#include "audit/proof.h"
int main(void){struct bench*b=bench_new();bench_fill(b,1,5);struct audit_log*l=0;auto_buffer p={0};audit_log_open(&l,b->path,NULL);audit_log_prove(l,3,&p,NULL);FILE*f=fopen("/work/main/tests/data/fuzz/proof/proof.json","w");fputs(p.data,f);fclose(f);char c[300];snprintf(c,300,"cp %s /work/main/tests/data/fuzz/proof/head.json",b->head);system(c);bench_free(b);}
