/* Requests: posted as they are, or built call by call; and their completions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "interface.h"

/* A request as the simulator reads it, in front of its pieces of memory or its data. */
struct request {
	uint64_t wr_id;
	uint32_t opcode, flags;
	uint32_t extra; /* immediate data, or the key that becomes invalid */
	uint32_t pieces;
	uint64_t remote_addr;
	uint32_t rkey, inlined;
	uint64_t compare_add, swap;
	uint32_t ah, remote_qpn, remote_qkey;
	uint32_t window;
	uint64_t bound, bound_length;
	uint32_t bound_mr, bound_access;
};

struct receive {
	uint64_t wr_id;
	uint32_t pieces, unused;
};

/* The largest message of several requests. */
#define MOST LARGEST

static bool addressed(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_UD;
}

static void bind(struct request *request, const struct ibv_mw *window, uint32_t key,
		 const struct ibv_mw_bind_info *info)
{
	request->rkey = key;
	request->window = window->handle;
	request->bound = info->addr;
	request->bound_length = info->length;
	request->bound_mr = info->mr ? info->mr->handle : 0;
	request->bound_access = info->mw_access_flags;
}

/* Append a request to a message; returns its new size, or 0 if it does not fit. */
static size_t append(char *message, size_t size, const struct ibv_qp *qp,
		     const struct ibv_send_wr *wr)
{
	struct request request = {
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.flags = wr->send_flags,
		.extra = wr->imm_data,
		.pieces = wr->num_sge,
	};
	size_t data = 0;

	if (wr->num_sge < 0)
		return 0;
	for (int i = 0; i < wr->num_sge; i++)
		data += wr->sg_list[i].length;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		data = wr->num_sge * sizeof(struct ibv_sge);
	else
		request.inlined = data;
	if (size + sizeof(request) + data > MOST)
		return 0;
	if (wr->opcode == IBV_WR_BIND_MW) {
		bind(&request, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	} else if (addressed(qp)) {
		request.ah = wr->wr.ud.ah ? wr->wr.ud.ah->handle : 0;
		request.remote_qpn = wr->wr.ud.remote_qpn;
		request.remote_qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		request.remote_addr = wr->wr.atomic.remote_addr;
		request.rkey = wr->wr.atomic.rkey;
		request.compare_add = wr->wr.atomic.compare_add;
		request.swap = wr->wr.atomic.swap;
	} else {
		request.remote_addr = wr->wr.rdma.remote_addr;
		request.rkey = wr->wr.rdma.rkey;
	}
	memcpy(message + size, &request, sizeof(request));
	size += sizeof(request);
	if (!request.inlined && data) {
		memcpy(message + size, wr->sg_list, data);
		return size + data;
	}
	for (int i = 0; data && i < wr->num_sge; i++) {
		memcpy(message + size, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		size += wr->sg_list[i].length;
	}
	return size;
}

/* Requests go in messages of as many as fit, each with one doorbell. */
int hca_post_send(struct ibv_qp *qp, struct ibv_send_wr *first, struct ibv_send_wr **bad)
{
	char message[MOST];

	while (first) {
		struct words words = {{qp->handle}};
		struct ibv_send_wr *wr = first;
		size_t size = 0, longer;
		int error;

		while (wr && (longer = append(message, size, qp, wr))) {
			size = longer;
			wr = wr->next;
		}
		error = wr == first ? EINVAL
				    : ask_with(CALL_POST_SEND, &words, message, size, NULL, 0, NULL);
		if (error) {
			for (uint64_t i = 0; wr != first && i < words.w[0]; i++)
				first = first->next;
			*bad = first;
			errno = error;
			return error;
		}
		first = wr;
	}
	return 0;
}

static int post_receives(uint32_t handle, struct ibv_recv_wr *first, struct ibv_recv_wr **bad)
{
	char message[MOST];

	while (first) {
		struct words words = {{handle}};
		struct ibv_recv_wr *wr = first;
		size_t size = 0;
		int error;

		for (; wr; wr = wr->next) {
			struct receive receive = {.wr_id = wr->wr_id, .pieces = wr->num_sge};
			size_t data = wr->num_sge * sizeof(struct ibv_sge);

			if (wr->num_sge < 0 || size + sizeof(receive) + data > MOST)
				break;
			memcpy(message + size, &receive, sizeof(receive));
			size += sizeof(receive);
			if (data)
				memcpy(message + size, wr->sg_list, data);
			size += data;
		}
		error = wr == first ? EINVAL
				    : ask_with(CALL_POST_RECV, &words, message, size, NULL, 0, NULL);
		if (error) {
			for (uint64_t i = 0; wr != first && i < words.w[0]; i++)
				first = first->next;
			*bad = first;
			errno = error;
			return error;
		}
		first = wr;
	}
	return 0;
}

int hca_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *first, struct ibv_recv_wr **bad)
{
	return post_receives(qp->handle, first, bad);
}

int hca_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *first, struct ibv_recv_wr **bad)
{
	return post_receives(srq->handle, first, bad);
}

int hca_bind_mw(struct ibv_qp *qp, struct ibv_mw *window, struct ibv_mw_bind *how)
{
	struct request request = {
		.wr_id = how->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.flags = how->send_flags,
	};
	struct words words = {{qp->handle}};
	uint32_t key = (window->rkey & ~255U) | ((window->rkey + 1) & 255);
	int error;

	bind(&request, window, key, &how->bind_info);
	error = ask_with(CALL_POST_SEND, &words, &request, sizeof(request), NULL, 0, NULL);
	if (error)
		errno = error;
	else
		window->rkey = key;
	return error;
}

int hca_poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *completions)
{
	struct words words = {{cq->handle, most}};
	int error = most < 0 ? EINVAL
			     : ask_with(CALL_POLL_CQ, &words, NULL, 0, completions,
					most * sizeof(*completions), NULL);

	if (!error)
		return words.w[0];
	errno = error;
	return -1;
}

int hca_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct words words = {{cq->handle, solicited_only}};
	int error = ask(CALL_REQ_NOTIFY, &words);

	if (error)
		errno = error;
	return error;
}

/* Requests that are built call by call. */

static void *grown(struct pair *pair, size_t by)
{
	if (pair->size + by > pair->room) {
		size_t room = 2 * (pair->size + by);
		char *list = room > 2 * MOST ? NULL : realloc(pair->list, room);

		if (!list) {
			pair->error = ENOMEM;
			return NULL;
		}
		pair->list = list;
		pair->room = room;
	}
	pair->size += by;
	return pair->list + pair->size - by;
}

static struct request *begun(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode)
{
	struct pair *pair = (struct pair *)qp;
	struct request *request = grown(pair, sizeof(*request));

	if (!request)
		return NULL;
	pair->last = pair->size - sizeof(*request);
	*request = (struct request){
		.wr_id = qp->wr_id,
		.opcode = opcode,
		.flags = qp->wr_flags & ~IBV_SEND_INLINE,
	};
	return request;
}

static struct request *last(struct ibv_qp_ex *qp)
{
	struct pair *pair = (struct pair *)qp;

	return pair->size && !pair->error ? (struct request *)(pair->list + pair->last) : NULL;
}

static void remote(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		   uint32_t extra)
{
	struct request *request = begun(qp, opcode);

	if (request) {
		request->rkey = rkey;
		request->remote_addr = addr;
		request->extra = extra;
	}
}

static void atomic(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		   uint64_t compare_add, uint64_t swap)
{
	struct request *request = begun(qp, opcode);

	if (request) {
		request->rkey = rkey;
		request->remote_addr = addr;
		request->compare_add = compare_add;
		request->swap = swap;
	}
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *window, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct request *request = begun(qp, IBV_WR_BIND_MW);

	if (request)
		bind(request, window, rkey, info);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	remote(qp, IBV_WR_LOCAL_INV, 0, 0, rkey);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	remote(qp, IBV_WR_RDMA_READ, rkey, addr, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	remote(qp, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint32_t data)
{
	remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, data);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	remote(qp, IBV_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp, uint32_t data)
{
	remote(qp, IBV_WR_SEND_WITH_IMM, 0, 0, data);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	remote(qp, IBV_WR_SEND_WITH_INV, 0, 0, rkey);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct request *request = last(qp);

	if (request) {
		request->ah = ah->handle;
		request->remote_qpn = remote_qpn;
		request->remote_qkey = remote_qkey;
	}
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
	struct ibv_sge *pieces = grown((struct pair *)qp, count * sizeof(*list));
	struct request *request = last(qp);

	if (pieces && request) {
		memcpy(pieces, list, count * sizeof(*list));
		request->pieces = count;
	}
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge piece = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(qp, 1, &piece);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t count,
				    const struct ibv_data_buf *list)
{
	for (size_t i = 0; i < count; i++) {
		char *data = grown((struct pair *)qp, list[i].length);
		struct request *request = last(qp);

		if (!data || !request)
			return;
		memcpy(data, list[i].addr, list[i].length);
		request->inlined += list[i].length;
		request->flags |= IBV_SEND_INLINE;
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_data_buf data = {.addr = addr, .length = length};

	wr_set_inline_data_list(qp, 1, &data);
}

static void wr_start(struct ibv_qp_ex *qp)
{
	struct pair *pair = (struct pair *)qp;

	pair->size = 0;
	pair->error = 0;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct pair *pair = (struct pair *)qp;
	struct words words = {{qp->qp_base.handle, 1}};
	int error = pair->error;

	if (!error && pair->size > MOST)
		error = ENOMEM;
	if (!error && pair->size)
		error = ask_with(CALL_POST_SEND, &words, pair->list, pair->size, NULL, 0, NULL);
	pair->size = 0;
	if (error)
		errno = error;
	return error;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	wr_start(qp);
}

void hca_extend(struct pair *pair)
{
	struct ibv_qp_ex *qp = &pair->qp;

	qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->wr_bind_mw = wr_bind_mw;
	qp->wr_local_inv = wr_local_inv;
	qp->wr_rdma_read = wr_rdma_read;
	qp->wr_rdma_write = wr_rdma_write;
	qp->wr_rdma_write_imm = wr_rdma_write_imm;
	qp->wr_send = wr_send;
	qp->wr_send_imm = wr_send_imm;
	qp->wr_send_inv = wr_send_inv;
	qp->wr_set_ud_addr = wr_set_ud_addr;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
}
