/* What the files of verbs share: contexts, and what their tables of functions point to. */
#ifndef HCASIM_INTERFACE_H
#define HCASIM_INTERFACE_H

#include "channel.h"
#include "verbs.h"

/* The first line of a function that overrides another: outside simulations it is that. */
#define OVERRIDE(name, ...)                                                                        \
	do {                                                                                       \
		if (!taking_part())                                                                \
			return BEHIND(name)(__VA_ARGS__);                                          \
	} while (0)

/* A queue pair, and the list of requests that is being built by the functions ibv_wr_*. */
struct pair {
	struct ibv_qp_ex qp;
	char *list;
	size_t size;	/* of the list so far */
	size_t room;
	size_t last;	/* where its last request begins */
	int error;
};

/* requests.c */
void hca_extend(struct pair *pair);
int hca_poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *completions);
int hca_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int hca_post_send(struct ibv_qp *qp, struct ibv_send_wr *first, struct ibv_send_wr **bad);
int hca_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *first, struct ibv_recv_wr **bad);
int hca_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *first, struct ibv_recv_wr **bad);
int hca_bind_mw(struct ibv_qp *qp, struct ibv_mw *window, struct ibv_mw_bind *bind);

/* objects.c */
struct ibv_mw *hca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int hca_dealloc_mw(struct ibv_mw *window);
struct ibv_dm *hca_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int hca_free_dm(struct ibv_dm *memory);
struct ibv_mr *hca_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *memory, uint64_t offset,
			     size_t length, unsigned int access);
struct ibv_td *hca_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int hca_dealloc_td(struct ibv_td *domain);
struct ibv_pd *hca_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);
struct ibv_cq_ex *hca_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int hca_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_qp *hca_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_srq *hca_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);

/* devices.c: the simulator's handle of an opened device. */
uint64_t hca_of(const struct ibv_context *context);

/* unsupported.c: fill the places of a context's table whose functions nobody has here. */
void refuse_rest(struct verbs_context *context);

#endif
