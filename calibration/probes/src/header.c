/* The header of a trace: the adapter, its link and slot, the machine and the clock. */
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

#ifndef PROBES_VERSION
#define PROBES_VERSION "1"
#endif

enum { TEXT = 256, CONFIG_SPACE = 256, CAPABILITIES = 0x34, PCI_EXPRESS = 0x10, CONTROL = 8 };

/* A folder in the form of /sys, so that what is read there can be tested without the hardware. */
static const char *sysfs(void)
{
    const char *other = getenv("HCASIM_SYSFS");
    return other ? other : "/sys";
}

__attribute__((format(printf, 3, 4))) static size_t read_some(void *into, size_t most,
                                                              const char *format, ...)
{
    char path[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    FILE *in = fopen(path, "rb");
    size_t length = in ? fread(into, 1, most, in) : 0;
    if (in)
        fclose(in);
    return length;
}

static bool read_device(const char *device, const char *name, char text[TEXT])
{
    size_t length =
        read_some(text, TEXT - 1, "%s/class/infiniband/%s/%s", sysfs(), device, name);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0];
}

static void print_driver(FILE *out, const char *device)
{
    char path[512], text[TEXT];
    snprintf(path, sizeof path, "%s/class/infiniband/%s/device/driver", sysfs(), device);
    ssize_t length = readlink(path, text, sizeof text - 1);
    if (length > 0) {
        text[length] = '\0';
        fputs(", \"driver\": ", out);
        print_json(out, basename(text));
    } else if (read_device(device, "parent", text)) {
        /* Only soft-RoCE tells which interface it sits on. */
        fputs(", \"driver\": \"rdma_rxe\"", out);
    }
}

static const char *transport(const struct port *port)
{
    if (port->context->device->transport_type == IBV_TRANSPORT_IWARP)
        return "iwarp";
    return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "roce" : "infiniband";
}

static void print_device(FILE *out, const struct port *port)
{
    const char *name = ibv_get_device_name(port->context->device);
    fputs(", \"device\": {\"name\": ", out);
    print_json(out, name);
    fprintf(out, ", \"vendor_id\": %u, \"part_id\": %u, \"firmware\": ", port->device.vendor_id,
            port->device.vendor_part_id);
    print_json(out, port->device.fw_ver);
    print_driver(out, name);
    fprintf(out, ", \"transport\": \"%s\"}", transport(port));
}

static void print_port(FILE *out, const struct port *port)
{
    /* IBTA volume 1, PortInfo: LinkWidthActive, LinkSpeedActive and LinkSpeedExtActive. */
    static const struct {
        int code, lanes;
    } WIDTHS[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
    static const struct {
        int code;
        double gbps;
    } SPEEDS[] = {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}};
    bool ethernet = port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    fprintf(out, ", \"port\": {\"layer\": \"%s\"", ethernet ? "ethernet" : "infiniband");
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
        if (WIDTHS[i].code == port->attr.active_width)
            fprintf(out, ", \"width\": %d", WIDTHS[i].lanes);
    for (size_t i = 0; i < sizeof SPEEDS / sizeof *SPEEDS; i++)
        if (SPEEDS[i].code == port->attr.active_speed)
            fprintf(out, ", \"speed\": %g", SPEEDS[i].gbps);
    fprintf(out, ", \"mtu\": %d}", 128 << port->attr.active_mtu);
}

/* Device control register of the PCI Express capability; -1 without permission to read it. */
static int device_control(const char *device)
{
    uint8_t config[CONFIG_SPACE];
    size_t length = read_some(config, sizeof config, "%s/class/infiniband/%s/device/config",
                              sysfs(), device);
    if (length < sizeof config)
        return -1;
    int tries = 48;
    for (size_t at = config[CAPABILITIES] & 0xfcu; at >= 0x40 && tries--; at = config[at + 1] & 0xfcu)
        if (config[at] == PCI_EXPRESS && at + CONTROL + 1 < sizeof config)
            return config[at + CONTROL] | config[at + CONTROL + 1] << 8;
    return -1;
}

static void print_pci(FILE *out, const struct port *port)
{
    static const double RATES[] = {2.5, 5, 8, 16, 32, 64};
    const char *name = ibv_get_device_name(port->context->device), *comma = "";
    char speed[TEXT], width[TEXT];
    bool known = read_device(name, "device/current_link_speed", speed);
    known = read_device(name, "device/current_link_width", width) || known;
    int control = device_control(name);
    if (!known && control < 0)
        return;
    fputs(", \"pci\": {", out);
    for (int i = 0; i < 6; i++)
        if (speed[0] && atof(speed) == RATES[i]) {
            fprintf(out, "\"generation\": %d", i + 1);
            comma = ", ";
        }
    if (atoi(width) > 0) {
        fprintf(out, "%s\"lanes\": %d", comma, atoi(width));
        comma = ", ";
    }
    if (control >= 0)
        fprintf(out, "%s\"max_payload\": %d, \"max_read_request\": %d", comma,
                128 << (control >> 5 & 7), 128 << (control >> 12 & 7));
    fputs("}", out);
}

static void print_host(FILE *out)
{
    char line[TEXT];
    struct utsname system;
    fputs(", \"host\": {", out);
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && fgets(line, sizeof line, in)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            line[strcspn(line, "\n")] = '\0';
            fputs("\"cpu\": ", out);
            print_json(out, colon + 1 + strspn(colon + 1, " "));
            fputs(", ", out);
            break;
        }
    }
    if (in)
        fclose(in);
    fprintf(out, "\"cpus\": %ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&system) == 0) {
        fputs(", \"kernel\": ", out);
        print_json(out, system.release);
    }
    fputs("}", out);
}

static void print_clock(FILE *out)
{
    bool fitted = the_clock.source == CLOCK_TSC;
    fprintf(out, ", \"clock\": {\"source\": \"%s\"", fitted ? "tsc" : "monotonic");
    if (fitted)
        fprintf(out, ", \"hz\": %.0f, \"error_ppm\": %.4f", the_clock.hz, the_clock.error_ppm);
    fprintf(out, ", \"overhead_ns\": %.1f}", the_clock.overhead_ns);
}

void trace_header(FILE *out, const struct about *about)
{
    char created[32];
    time_t now = time(NULL);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fputs("{\"record\": \"header\", \"schema\": \"hcasim-trace\", \"version\": 1, \"tool\": "
          "{\"name\": \"hcasim-probes\", \"version\": \"" PROBES_VERSION "\", \"command\": ",
          out);
    print_json(out, about->command);
    fprintf(out, "}, \"created\": \"%s\"", created);
    print_device(out, &about->ports[0]);
    print_port(out, &about->ports[0]);
    print_pci(out, &about->ports[0]);
    print_host(out);
    print_clock(out);
    if (about->plan)
        fprintf(out, ", \"plan\": {\"sha256\": \"%s\", \"seed\": %llu, \"points\": %zu}",
                about->plan->sha256, (unsigned long long)about->plan->seed, about->plan->count);
    fprintf(out, ", \"notes\": [\"connected %s\"",
            about->by_hand ? "by hand" : "by the connection manager");
    if (about->port_count > 1) {
        char note[TEXT];
        snprintf(note, sizeof note, "the second port is port %d of %s", about->ports[1].number,
                 ibv_get_device_name(about->ports[1].context->device));
        fputs(", ", out);
        print_json(out, note);
    }
    fputs("]}\n", out);
}
