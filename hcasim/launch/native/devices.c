#define _GNU_SOURCE
#include "interface.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_DEVICES 8
#define CLASS "/sys/class/infiniband/"

struct device {
	struct ibv_device ibv;
	const void *provider; /* Libraries of providers know theirs by what is here. */
	uint64_t guid;
	uint64_t vectors;
};

struct opened {
	uint64_t handle;
	int events; /* The simulator writes asynchronous events here. */
	struct verbs_context verbs;
};

static struct device devices[MOST_DEVICES];
static int device_count = -1;

static struct opened *opened(const struct ibv_context *context)
{
	return (struct opened *)((char *)context - offsetof(struct opened, verbs.context));
}

uint64_t hca_of(const struct ibv_context *context)
{
	return opened(context)->handle;
}

/* Devices are those of the node, which stay what they are. */
static void find_devices(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int count = 0;

	pthread_mutex_lock(&lock);
	while (device_count < 0 && count < MOST_DEVICES) {
		struct device *one = &devices[count];
		struct words words = {{count}};
		size_t came;

		if (ask_with(CALL_DEVICE, &words, NULL, 0, one->ibv.name, sizeof(one->ibv.name) - 1,
			     &came))
			break;
		one->guid = htobe64(words.w[0]);
		one->vectors = words.w[1];
		one->ibv.transport_type = words.w[2] ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		one->ibv.node_type = words.w[2] ? IBV_NODE_RNIC : IBV_NODE_CA;
		snprintf(one->ibv.dev_name, sizeof(one->ibv.dev_name), "uverbs%d", count);
		snprintf(one->ibv.dev_path, sizeof(one->ibv.dev_path),
			 "/sys/class/infiniband_verbs/uverbs%d", count);
		snprintf(one->ibv.ibdev_path, sizeof(one->ibv.ibdev_path), CLASS "%s",
			 one->ibv.name);
		count++;
	}
	if (device_count < 0)
		device_count = count;
	pthread_mutex_unlock(&lock);
}

EXPORT struct ibv_device **ibv_get_device_list(int *number)
{
	struct ibv_device **list;

	OVERRIDE(ibv_get_device_list, number);
	find_devices();
	list = calloc(device_count + 1, sizeof(*list));
	for (int i = 0; list && i < device_count; i++)
		list[i] = &devices[i].ibv;
	if (number)
		*number = list ? device_count : 0;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	OVERRIDE(ibv_free_device_list, list);
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	OVERRIDE(ibv_get_device_name, device);
	return device->name;
}

EXPORT uint64_t ibv_get_device_guid(struct ibv_device *device)
{
	OVERRIDE(ibv_get_device_guid, device);
	return ((struct device *)device)->guid;
}

EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	OVERRIDE(ibv_get_device_index, device);
	return (struct device *)device - devices;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t size)
{
	struct words words = {{hca_of(context), port}};
	struct ibv_port_attr found;
	int error = ask_with(CALL_QUERY_PORT, &words, NULL, 0, &found, sizeof(found), NULL);

	if (error)
		return error;
	memset(attr, 0, size);
	memcpy(attr, &found, size < sizeof(found) ? size : sizeof(found));
	return 0;
}

/* Of programs whose structure ends before port_cap_flags2. */
EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	OVERRIDE(ibv_query_port, context, port, attr);
	return query_port(context, port, attr, offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr,
			struct words *words)
{
	words->w[0] = hca_of(context);
	return ask_with(CALL_QUERY_DEVICE, words, NULL, 0, attr, sizeof(*attr), NULL);
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct words words;

	OVERRIDE(ibv_query_device, context, attr);
	return query_device(context, attr, &words);
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex found = {.comp_mask = 0};
	struct words words;
	int error;

	if ((input && input->comp_mask) || size < sizeof(found.orig_attr))
		return EINVAL;
	error = query_device(context, &found.orig_attr, &words);
	if (error)
		return error;
	found.device_cap_flags_ex = found.orig_attr.device_cap_flags;
	found.cq_mod_caps = (struct ibv_cq_moderation_caps){UINT16_MAX, UINT16_MAX};
	found.max_dm_size = words.w[0];
	found.phys_port_cnt_ex = found.orig_attr.phys_port_cnt;
	memset(attr, 0, size);
	memcpy(attr, &found, size < sizeof(found) ? size : sizeof(found));
	return 0;
}

static int gid_entry(struct ibv_context *context, uint32_t port, uint32_t index,
		     struct ibv_gid_entry *entry)
{
	struct words words = {{hca_of(context), port, index}};
	int error = ask_with(CALL_QUERY_GID, &words, NULL, 0, &entry->gid, sizeof(entry->gid), NULL);

	entry->gid_index = index;
	entry->port_num = port;
	entry->gid_type = words.w[0];
	entry->ndev_ifindex = 0;
	return error;
}

static int failed(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int error;

	OVERRIDE(ibv_query_gid, context, port, index, gid);
	error = gid_entry(context, port, index, &entry);
	if (!error)
		*gid = entry.gid;
	return failed(error);
}

/* The type as the kernel's files tell it: 1 for the second version of RoCE. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
			      unsigned int *type)
{
	struct ibv_gid_entry entry;
	int error;

	OVERRIDE(ibv_query_gid_type, context, port, index, type);
	error = gid_entry(context, port, index, &entry);
	if (!error)
		*type = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
	return failed(error);
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry found;
	int error;

	OVERRIDE(_ibv_query_gid_ex, context, port, index, entry, flags, size);
	if (flags)
		return EOPNOTSUPP;
	error = gid_entry(context, port, index, &found);
	if (!error)
		memcpy(entry, &found, size < sizeof(found) ? size : sizeof(found));
	return error;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				    size_t most, uint32_t flags, size_t size)
{
	struct ibv_device_attr attr;
	ssize_t count = 0;

	OVERRIDE(_ibv_query_gid_table, context, entries, most, flags, size);
	if (flags)
		return -EOPNOTSUPP;
	if (ibv_query_device(context, &attr))
		return -EINVAL;
	for (uint32_t port = 1; port <= attr.phys_port_cnt; port++) {
		struct ibv_gid_entry found;

		for (uint32_t i = 0; !gid_entry(context, port, i, &found); i++) {
			if ((size_t)count == most)
				return -EINVAL;
			memcpy((char *)entries + count++ * size, &found,
			       size < sizeof(found) ? size : sizeof(found));
		}
	}
	return count;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, uint16_t *pkey)
{
	struct words words = {{0, port, index}};
	int error;

	OVERRIDE(ibv_query_pkey, context, port, index, pkey);
	words.w[0] = hca_of(context);
	error = ask(CALL_QUERY_PKEY, &words);
	if (!error)
		*pkey = htons(words.w[0]);
	return failed(error);
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, uint16_t pkey)
{
	uint16_t found;

	OVERRIDE(ibv_get_pkey_index, context, port, pkey);
	for (int i = 0; !ibv_query_pkey(context, port, i, &found); i++)
		if (found == pkey)
			return i;
	return -1;
}

/* The kernel's files about devices, of which some are known; of others, what the system has. */
EXPORT int ibv_read_sysfs_file(const char *folder, const char *file, char *text, size_t size)
{
	char path[512];
	struct words words = {{0}};
	size_t came;
	int error;

	OVERRIDE(ibv_read_sysfs_file, folder, file, text, size);
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (!size)
		return failed(EINVAL);
	if (!strcmp(path, "/sys/class/misc/rdma_cm/abi_version"))
		return snprintf(text, size, "4");
	if (strncmp(path, CLASS, strlen(CLASS)))
		return BEHIND(ibv_read_sysfs_file)(folder, file, text, size);
	error = ask_with(CALL_QUERY_FILE, &words, path + strlen(CLASS), strlen(path) - strlen(CLASS),
			 text, size - 1, &came);
	if (error)
		return failed(error);
	text[came] = 0;
	return came;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct opened *made;
	struct words words;
	int pipe[2], error;

	OVERRIDE(ibv_open_device, device);
	made = calloc(1, sizeof(*made));
	if (!made || syscall(SYS_pipe2, pipe, O_CLOEXEC) < 0) {
		free(made);
		return NULL;
	}
	words = (struct words){{(struct device *)device - devices, pipe[1]}};
	error = ask(CALL_OPEN_DEVICE, &words);
	if (error) {
		syscall(SYS_close, pipe[0]);
		syscall(SYS_close, pipe[1]);
		free(made);
		errno = error;
		return NULL;
	}
	made->handle = words.w[0];
	made->events = pipe[1];
	made->verbs = (struct verbs_context){
		.query_port = query_port,
		.query_device_ex = query_device_ex,
		.create_cq_ex = hca_create_cq_ex,
		.create_qp_ex = hca_create_qp_ex,
		.create_srq_ex = hca_create_srq_ex,
		.modify_cq = hca_modify_cq,
		.alloc_parent_domain = hca_alloc_parent_domain,
		.alloc_dm = hca_alloc_dm,
		.free_dm = hca_free_dm,
		.reg_dm_mr = hca_reg_dm_mr,
		.alloc_td = hca_alloc_td,
		.dealloc_td = hca_dealloc_td,
		.sz = sizeof(struct verbs_context),
		.context = {
			.device = device,
			.ops = {
				.alloc_mw = hca_alloc_mw,
				.bind_mw = hca_bind_mw,
				.dealloc_mw = hca_dealloc_mw,
				.poll_cq = hca_poll_cq,
				.req_notify_cq = hca_req_notify_cq,
				.post_srq_recv = hca_post_srq_recv,
				.post_send = hca_post_send,
				.post_recv = hca_post_recv,
			},
			.cmd_fd = pipe[1], /* Programs may copy it. */
			.async_fd = pipe[0],
			.num_comp_vectors = ((struct device *)device)->vectors,
			.abi_compat = IBV_EXTENDED,
		},
	};
	refuse_rest(&made->verbs);
	pthread_mutex_init(&made->verbs.context.mutex, NULL);
	return &made->verbs.context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct opened *closed;
	struct words words;

	OVERRIDE(ibv_close_device, context);
	closed = opened(context);
	words = (struct words){{closed->handle}};
	ask(CALL_CLOSE_DEVICE, &words);
	syscall(SYS_close, closed->events);
	close(context->async_fd);
	free(closed);
	return 0;
}
