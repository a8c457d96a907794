// A stand-in for NVIDIA's driver library, with no more of it than is asked. What
// it says stands in the file that FAKE_NVML names, read anew every time:
//
//	gpu UUID MIB STATE ECC       STATE is ok or lost; ECC counts uncorrected errors
//	process INDEX PID MIB        of the GPU with that index
//	xid INDEX NUMBER SERIAL      told once for each serial number, which grow
//	hang                         every further call waits for ever
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID = 2, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15, UNKNOWN = 999, MOST = 16, PROCESSES = 64 };

typedef struct { char uuid[80]; unsigned long long mib, ecc; int lost; } gpu;
typedef struct { unsigned gpu, pid; unsigned long long mib; } process;
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } info;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci;
typedef struct { void *device; unsigned long long type, data; unsigned gi, ci; } event;

static gpu gpus[MOST];
static process processes[PROCESSES];
static int count, running;
static unsigned xid_gpu, xid_number, xid_serial, xid_told;

static int look(void) {
	const char *path = getenv("FAKE_NVML");
	FILE *f = path ? fopen(path, "r") : NULL;
	if (!f) return UNKNOWN;
	char line[256], state[16];
	count = running = 0;
	while (fgets(line, sizeof line, f)) {
		gpu *g = &gpus[count];
		process *p = &processes[running];
		if (strncmp(line, "hang", 4) == 0) for (;;) pause();
		if (count < MOST && sscanf(line, "gpu %79s %llu %15s %llu", g->uuid, &g->mib, state, &g->ecc) == 4) {
			g->lost = strcmp(state, "lost") == 0;
			count++;
		} else if (running < PROCESSES && sscanf(line, "process %u %u %llu", &p->gpu, &p->pid, &p->mib) == 3) {
			running++;
		} else {
			sscanf(line, "xid %u %u %u", &xid_gpu, &xid_number, &xid_serial);
		}
	}
	fclose(f);
	return SUCCESS;
}

// A handle is the index of its GPU, plus one.
static gpu *of(void *device) {
	unsigned long at = (unsigned long)device - 1;
	return at < (unsigned long)count && !gpus[at].lost ? &gpus[at] : NULL;
}

int nvmlInit_v2(void) { return look(); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int r) { return r == LOST ? "GPU is lost" : r == SUCCESS ? "Success" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "999.1"); return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *out) { int r = look(); *out = count; return r; }

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out) {
	if (i >= (unsigned)count) return INVALID;
	*out = (void *)(unsigned long)(i + 1);
	return gpus[i].lost ? LOST : SUCCESS;
}

int nvmlDeviceGetUUID(void *d, char *out, unsigned n) {
	if (!of(d)) return LOST;
	snprintf(out, n, "%s", of(d)->uuid);
	return SUCCESS;
}

int nvmlDeviceGetName(void *d, char *out, unsigned n) {
	if (!of(d)) return LOST;
	snprintf(out, n, "Fake GPU");
	return SUCCESS;
}

int nvmlDeviceGetMinorNumber(void *d, unsigned *out) { *out = (unsigned long)d - 1; return of(d) ? SUCCESS : LOST; }

int nvmlDeviceGetMemoryInfo(void *d, memory *out) {
	if (!of(d)) return LOST;
	memset(out, 0, sizeof *out);
	out->total = of(d)->mib << 20;
	return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(void *d, pci *out) {
	if (!of(d)) return LOST;
	memset(out, 0, sizeof *out);
	snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", (unsigned)(unsigned long)d);
	return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(void *d, int kind, int counter, unsigned long long *out) {
	if (!of(d)) return LOST;
	*out = of(d)->ecc;
	return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, info *out) {
	if (!of(d)) return LOST;
	unsigned room = *n;
	*n = 0;
	for (int i = 0; i < running; i++) {
		if (processes[i].gpu != (unsigned long)d - 1) continue;
		if (*n < room) out[*n] = (info){processes[i].pid, processes[i].mib << 20, 0xffffffff, 0xffffffff};
		++*n;
	}
	return *n > room ? TOO_SMALL : SUCCESS;
}

int nvmlEventSetCreate(void **out) { *out = (void *)1; return SUCCESS; }
int nvmlEventSetFree(void *set) { return SUCCESS; }
int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set) { return SUCCESS; }

int nvmlEventSetWait_v2(void *set, event *out, unsigned milliseconds) {
	for (unsigned waited = 0;; waited += 10) {
		look();
		if (xid_serial > xid_told) {
			xid_told = xid_serial;
			*out = (event){(void *)(unsigned long)(xid_gpu + 1), 8, xid_number, 0xffffffff, 0xffffffff};
			return SUCCESS;
		}
		// A tenth of the time, so that tests need not wait for the real pace.
		if (waited >= milliseconds / 10) return TIMEOUT;
		usleep(10 * 1000);
	}
}
