/* Objects of verbs: the simulator knows them by their handles. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "interface.h"

static int done(int error)
{
	if (error)
		errno = error;
	return error;
}

/* Have the simulator forget an object, and free it. */
static int destroy(uint32_t handle, void *object)
{
	struct words words = {{handle}};
	int error = ask(CALL_DESTROY, &words);

	if (!error)
		free(object);
	return done(error);
}

/* Memory for an object that a call makes; NULL if the call fails. */
static void *made(size_t size, enum call what, struct words *words)
{
	void *object = calloc(1, size);
	int error = object ? ask(what, words) : ENOMEM;

	if (!error)
		return object;
	free(object);
	errno = error;
	return NULL;
}

/* Protection domains, regions and windows. */

struct domain {
	struct ibv_pd pd;
	struct domain *within; /* The one that a parent domain extends. */
	int extended;	       /* by how many */
};

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct words words = {{0}};
	struct domain *domain = made(sizeof(*domain), CALL_ALLOC_PD, &words);

	if (!domain)
		return NULL;
	domain->pd.context = context;
	domain->pd.handle = words.w[0];
	return &domain->pd;
}

/* Queues take none of a program's memory, so that its allocators are not called, and no lock. */
struct ibv_pd *hca_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct domain *domain;

	if (!attr->pd || attr->comp_mask & ~known) {
		errno = attr->pd ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	domain->pd.context = context;
	domain->pd.handle = attr->pd->handle;
	domain->within = (struct domain *)attr->pd;
	domain->within->extended++;
	return &domain->pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct domain *domain = (struct domain *)pd;

	if (domain->extended)
		return done(EBUSY);
	if (!domain->within)
		return destroy(pd->handle, domain);
	domain->within->extended--;
	free(domain);
	return 0;
}

struct ibv_td *hca_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct ibv_td *domain = attr->comp_mask ? NULL : calloc(1, sizeof(*domain));

	if (domain)
		domain->context = context;
	else if (attr->comp_mask)
		errno = EOPNOTSUPP;
	return domain;
}

int hca_dealloc_td(struct ibv_td *domain)
{
	free(domain);
	return 0;
}

static struct ibv_mr *made_mr(struct ibv_pd *pd, void *addr, size_t length, enum call what,
			      struct words words)
{
	struct ibv_mr *mr = made(sizeof(*mr), what, &words);

	if (mr) {
		mr->context = pd->context;
		mr->pd = pd;
		mr->addr = addr;
		mr->length = length;
		mr->handle = words.w[0];
		mr->lkey = words.w[1];
		mr->rkey = words.w[2];
	}
	return mr;
}

static struct ibv_mr *registered(struct ibv_pd *pd, void *addr, size_t length, uint64_t named,
				 unsigned int access)
{
	struct words words = {{pd->handle, (uintptr_t)addr, length, named, access}};

	return made_mr(pd, addr, length, CALL_REG_MR, words);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	uint64_t named = access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;

	return registered(pd, addr, length, named, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	return registered(pd, addr, length, iova, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	return registered(pd, addr, length, iova, access);
}

EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
			int access)
{
	bool moves = flags & IBV_REREG_MR_CHANGE_PD; /* If not, pd may be anything. */
	struct words words = {{mr->handle, flags, moves ? pd->handle : 0, (uintptr_t)addr, length,
			       access}};

	if (done(ask(CALL_REREG_MR, &words)))
		return -1; /* Not even tried: the region is as it was. */
	mr->lkey = words.w[0];
	mr->rkey = words.w[1];
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		mr->pd = pd;
		mr->context = pd->context;
	}
	return 0;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	return destroy(mr->handle, mr);
}

/* Device memory. */

static int memcpy_to_dm(struct ibv_dm *memory, uint64_t offset, const void *from, size_t length)
{
	struct words words = {{memory->handle, offset, (uintptr_t)from, length, true}};

	return ask(CALL_COPY_DM, &words);
}

static int memcpy_from_dm(void *to, struct ibv_dm *memory, uint64_t offset, size_t length)
{
	struct words words = {{memory->handle, offset, (uintptr_t)to, length, false}};

	return ask(CALL_COPY_DM, &words);
}

struct ibv_dm *hca_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct words words = {{attr->length, attr->log_align_req}};
	struct ibv_dm *memory;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	memory = made(sizeof(*memory), CALL_ALLOC_DM, &words);
	if (memory)
		*memory = (struct ibv_dm){.context = context,
					  .memcpy_to_dm = memcpy_to_dm,
					  .memcpy_from_dm = memcpy_from_dm,
					  .comp_mask = IBV_DM_MASK_HANDLE,
					  .handle = words.w[0]};
	return memory;
}

int hca_free_dm(struct ibv_dm *memory)
{
	return destroy(memory->handle, memory);
}

/* Requests name its first byte 0. */
struct ibv_mr *hca_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *memory, uint64_t offset,
			     size_t length, unsigned int access)
{
	struct words words = {{pd->handle, memory->handle, offset, length, access}};

	return made_mr(pd, NULL, length, CALL_REG_DM_MR, words);
}

struct ibv_mw *hca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct words words = {{pd->handle, type}};
	struct ibv_mw *window = made(sizeof(*window), CALL_ALLOC_MW, &words);

	if (window) {
		window->context = pd->context;
		window->pd = pd;
		window->type = type;
		window->handle = words.w[0];
		window->rkey = words.w[1];
	}
	return window;
}

int hca_dealloc_mw(struct ibv_mw *window)
{
	return destroy(window->handle, window);
}

/* Completion channels: pipes, so that programs can wait for them as for any descriptor. */

struct channel {
	struct ibv_comp_channel channel;
	int in;
	uint32_t handle;
};

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct words words = {{0}};
	struct channel *channel;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	words.w[0] = ends[1];
	channel = made(sizeof(*channel), CALL_CREATE_CHANNEL, &words);
	if (!channel) {
		close(ends[0]);
		close(ends[1]);
		return NULL;
	}
	channel->channel.context = context;
	channel->channel.fd = ends[0];
	channel->in = ends[1];
	channel->handle = words.w[0];
	return &channel->channel;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct channel *own = (struct channel *)channel;

	if (channel->refcnt)
		return EBUSY;
	close(channel->fd);
	close(own->in);
	return destroy(own->handle, own);
}

/* What the simulator writes into the pipe of a channel, or of a context. */
struct event {
	uint64_t type;
	uint64_t about;
};

static int next_event(int descriptor, struct event *event)
{
	ssize_t length = read(descriptor, event, sizeof(*event));

	if (length == sizeof(*event))
		return 0;
	if (length >= 0)
		errno = EIO;
	return -1;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct event event;

	if (next_event(channel->fd, &event))
		return -1;
	*cq = (struct ibv_cq *)(uintptr_t)event.about;
	*cq_context = (*cq)->cq_context;
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	cq->comp_events_completed += count;
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct event found;

	if (next_event(context->async_fd, &found))
		return -1;
	event->event_type = found.type;
	event->element.cq = NULL;
	if (event->event_type == IBV_EVENT_CQ_ERR)
		event->element.cq = (struct ibv_cq *)(uintptr_t)found.about;
	else if (event->event_type >= IBV_EVENT_PORT_ACTIVE &&
		 event->event_type <= IBV_EVENT_SM_CHANGE)
		event->element.port_num = found.about;
	else
		event->element.qp = (struct ibv_qp *)(uintptr_t)found.about;
	return 0;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->element.cq->async_events_completed++;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event->element.srq->events_completed++;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event->element.qp->events_completed++;
		break;
	default:
		break;
	}
}

/* Completion queues. */

struct queue {
	struct ibv_cq_ex cq;
	struct ibv_wc entry; /* The one that start_poll or next_poll has found. */
};

static int next_poll(struct ibv_cq_ex *cq)
{
	struct queue *queue = (struct queue *)cq;
	int found = hca_poll_cq((struct ibv_cq *)cq, 1, &queue->entry);

	if (found < 1)
		return found ? errno : ENOENT;
	cq->wr_id = queue->entry.wr_id;
	cq->status = queue->entry.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	return attr && attr->comp_mask ? EINVAL : next_poll(cq);
}

static void end_poll(struct ibv_cq_ex *cq)
{
	(void)cq;
}

#define READS(type, name, field)                                                                   \
	static type read_##name(struct ibv_cq_ex *cq)                                              \
	{                                                                                          \
		return ((struct queue *)cq)->entry.field;                                          \
	}

READS(enum ibv_wc_opcode, opcode, opcode)
READS(uint32_t, vendor_err, vendor_err)
READS(uint32_t, byte_len, byte_len)
READS(uint32_t, imm_data, imm_data)
READS(uint32_t, qp_num, qp_num)
READS(uint32_t, src_qp, src_qp)
READS(unsigned int, wc_flags, wc_flags)
READS(uint32_t, slid, slid)
READS(uint8_t, sl, sl)
READS(uint8_t, dlid_path_bits, dlid_path_bits)

static struct queue *create_queue(struct ibv_context *context, int cqe, void *cq_context,
				  struct ibv_comp_channel *channel, int vector)
{
	struct words words = {{cqe, channel ? ((struct channel *)channel)->handle : 0}};
	struct queue *queue = calloc(1, sizeof(*queue));
	struct ibv_cq_ex *cq = &queue->cq;
	int error;

	if (!queue)
		return NULL;
	words.w[2] = (uintptr_t)queue;
	if (cqe < 1 || vector < 0 || vector >= context->num_comp_vectors)
		error = EINVAL;
	else
		error = ask(CALL_CREATE_CQ, &words);
	if (error) {
		free(queue);
		errno = error;
		return NULL;
	}
	cq->context = context;
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->handle = words.w[0];
	cq->cqe = words.w[1];
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	if (channel)
		channel->refcnt++;
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	return queue;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	return (struct ibv_cq *)create_queue(context, cqe, cq_context, channel, comp_vector);
}

struct ibv_cq_ex *hca_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return (struct ibv_cq_ex *)create_queue(context, attr->cqe, attr->cq_context, attr->channel,
						attr->comp_vector);
}

EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct words words = {{cq->handle, cqe}};
	int error = cqe < 1 ? EINVAL : ask(CALL_RESIZE_CQ, &words);

	if (!error)
		cq->cqe = words.w[0];
	return done(error);
}

int hca_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct words words = {{cq->handle, attr->moderate.cq_count, attr->moderate.cq_period}};

	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return done(EINVAL);
	return done(ask(CALL_MODIFY_CQ, &words));
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->channel;
	int error = destroy(cq->handle, cq);

	if (!error && channel)
		channel->refcnt--;
	return error;
}

/* Shared receive queues. */

static struct ibv_srq *create_srq(struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr *attr)
{
	struct ibv_srq *srq = calloc(1, sizeof(*srq));
	struct words words = {{pd->handle, attr->max_wr, attr->max_sge, attr->srq_limit}};
	int error;

	if (!srq)
		return NULL;
	words.w[4] = (uintptr_t)srq;
	error = ask(CALL_CREATE_SRQ, &words);
	if (error) {
		free(srq);
		errno = error;
		return NULL;
	}
	srq->context = pd->context;
	srq->srq_context = srq_context;
	srq->pd = pd;
	srq->handle = words.w[0];
	attr->max_wr = words.w[1];
	attr->max_sge = words.w[2];
	pthread_mutex_init(&srq->mutex, NULL);
	pthread_cond_init(&srq->cond, NULL);
	return srq;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return create_srq(pd, attr->srq_context, &attr->attr);
}

struct ibv_srq *hca_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	(void)context;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return create_srq(attr->pd, attr->srq_context, &attr->attr);
}

EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct words words = {{srq->handle, attr->srq_limit}};

	if (mask & IBV_SRQ_MAX_WR)
		return done(EOPNOTSUPP);
	return mask & IBV_SRQ_LIMIT ? done(ask(CALL_MODIFY_SRQ, &words)) : 0;
}

EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct words words = {{srq->handle}};
	int error = ask(CALL_QUERY_SRQ, &words);

	if (!error) {
		attr->max_wr = words.w[0];
		attr->max_sge = words.w[1];
		attr->srq_limit = words.w[2];
	}
	return done(error);
}

EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	return destroy(srq->handle, srq);
}

/* Queue pairs. */

static struct ibv_qp *create_pair(struct ibv_pd *pd, struct ibv_qp_init_attr_ex *attr,
				  uint32_t flags)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct ibv_qp *qp = &pair->qp.qp_base;
	struct words words;
	struct ibv_qp_cap cap = attr->cap;
	int error;

	if (!pair)
		return NULL;
	words = (struct words){{pd->handle, attr->send_cq ? attr->send_cq->handle : 0,
				attr->recv_cq ? attr->recv_cq->handle : 0,
				attr->srq ? attr->srq->handle : 0, attr->qp_type, attr->sq_sig_all,
				flags, (uintptr_t)pair}};
	error = ask_with(CALL_CREATE_QP, &words, &cap, sizeof(cap), &cap, sizeof(cap), NULL);
	if (error) {
		free(pair);
		errno = error;
		return NULL;
	}
	attr->cap = cap;
	qp->context = pd->context;
	qp->qp_context = attr->qp_context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->handle = words.w[0];
	qp->qp_num = words.w[1];
	qp->state = IBV_QPS_RESET;
	qp->qp_type = attr->qp_type;
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
	return qp;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex extended = {0};
	struct ibv_qp *qp;

	memcpy(&extended, attr, sizeof(*attr));
	qp = create_pair(pd, &extended, 0);
	attr->cap = extended.cap;
	return qp;
}

/* Requests that can be built call by call: up to sends that make keys invalid. */
#define BUILT (2 * IBV_QP_EX_WITH_SEND_WITH_INV - 1)

struct ibv_qp *hca_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS;
	bool calls = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	(void)context;
	if (attr->comp_mask & ~known || (calls && attr->send_ops_flags & ~(uint64_t)BUILT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	qp = create_pair(attr->pd, attr, flags ? attr->create_flags : 0);
	if (qp && calls)
		hca_extend((struct pair *)qp);
	return qp;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct pair *pair = (struct pair *)qp;

	return pair->qp.wr_start ? &pair->qp : NULL;
}

/* Up to rate_limit, of which programs compiled with old headers know nothing. */
#define ATTR_SIZE 144
#define OLD_ATTR offsetof(struct ibv_qp_attr, rate_limit)

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct words words = {{qp->handle, (uint32_t)mask}};
	char sent[ATTR_SIZE] = {0};
	int error;

	memcpy(sent, attr, mask & IBV_QP_RATE_LIMIT ? sizeof(*attr) : OLD_ATTR);
	error = ask_with(CALL_MODIFY_QP, &words, sent, sizeof(sent), NULL, 0, NULL);
	if (!error && mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return done(error);
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *made_with)
{
	struct words words = {{qp->handle}};
	char got[ATTR_SIZE] = {0};
	int error = ask_with(CALL_QUERY_QP, &words, NULL, 0, got, sizeof(got), NULL);

	if (error)
		return done(error);
	memcpy(attr, got, mask & IBV_QP_RATE_LIMIT ? sizeof(*attr) : OLD_ATTR);
	made_with->qp_context = qp->qp_context;
	made_with->send_cq = qp->send_cq;
	made_with->recv_cq = qp->recv_cq;
	made_with->srq = qp->srq;
	made_with->qp_type = qp->qp_type;
	made_with->cap = attr->cap;
	made_with->sq_sig_all = words.w[0];
	qp->state = attr->qp_state;
	return 0;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	char *list = ((struct pair *)qp)->list;
	int error = destroy(qp->handle, qp);

	if (!error)
		free(list);
	return error;
}

static int mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid, bool joins)
{
	struct words words = {{qp->handle, lid, joins}};

	return done(ask_with(CALL_MCAST, &words, gid, sizeof(*gid), NULL, 0, NULL));
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return mcast(qp, gid, lid, true);
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return mcast(qp, gid, lid, false);
}

/* Addresses of ports. */

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct words words = {{pd->handle}};
	struct ibv_ah *ah = calloc(1, sizeof(*ah));
	int error = ah ? ask_with(CALL_CREATE_AH, &words, attr, sizeof(*attr), NULL, 0, NULL)
		       : ENOMEM;

	if (error) {
		free(ah);
		errno = error;
		return NULL;
	}
	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = words.w[0];
	return ah;
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	return destroy(ah->handle, ah);
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct words words = {{(uintptr_t)context, port, wc->wc_flags & IBV_WC_GRH, wc->slid, wc->sl,
			       wc->dlid_path_bits}};
	size_t size = words.w[2] ? sizeof(*grh) : 0;
	int error = ask_with(CALL_INIT_AH, &words, grh, size, attr, sizeof(*attr), NULL);

	if (!error)
		return 0;
	errno = error;
	return -1;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					    struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
