// Takes memory of the first GPU that it sees, through the driver's own library,
// and says what it got. It holds it until it is ended.
//
//	usegpu MIB
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *library;

static int fail(const char *what, int code) {
	printf("%s: %d\n", what, code);
	return 9;
}

static void *find(const char *name) {
	void *f = dlsym(library, name);
	if (!f) exit(fail(name, -1));
	return f;
}

int main(int argc, char **argv) {
	int r, count, device = 0;
	void *context;
	unsigned long long address;
	unsigned char id[16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2) return fail("give an amount in MiB", argc);
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) return fail("libcuda.so.1 is not there", -1);
	int (*init)(unsigned) = find("cuInit");
	int (*get_count)(int *) = find("cuDeviceGetCount");
	int (*get_id)(void *, int) = find("cuDeviceGetUuid");
	int (*create)(void **, unsigned, int) = find("cuCtxCreate_v2");
	int (*allocate)(unsigned long long *, size_t) = find("cuMemAlloc_v2");
	if ((r = init(0))) return fail("cuInit", r);
	if ((r = get_count(&count))) return fail("cuDeviceGetCount", r);
	if ((r = get_id(id, device))) return fail("cuDeviceGetUuid", r);
	printf("sees %d GPU-", count);
	for (int i = 0; i < 16; i++) printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	printf("\n");
	if ((r = create(&context, 0, device))) return fail("cuCtxCreate", r);
	if ((r = allocate(&address, (size_t)atol(argv[1]) << 20))) return fail("refused", r);
	printf("holds %s\n", argv[1]);
	for (;;) pause();
}
