/* What programs may call and nobody does here: it is refused, and named once.
 *
 * A few have a true answer that costs nothing. What only libraries of providers call is left out: no provider
 * has our devices.
 */
#include "interface.h"

#include <errno.h>
#include <stdio.h>

static void refuse(const char *name)
{
	char line[96];

	snprintf(line, sizeof(line), "%s is not supported", name);
	say_once(name, line);
	errno = EOPNOTSUPP;
}

/* All arguments are integers and pointers, in registers, whose types do not matter here. */
#define ARGUMENTS long a, long b, long c, long d, long e, long f
#define ANSWER(name, answer)                                                                       \
	EXPORT long name(ARGUMENTS)                                                                \
	{                                                                                          \
		OVERRIDE(name, a, b, c, d, e, f);                                                  \
		return answer;                                                                     \
	}
#define REFUSE(name, answer) ANSWER(name, (refuse(#name), answer))

REFUSE(ibv_import_device, 0)
REFUSE(ibv_import_pd, 0)
REFUSE(ibv_unimport_pd, 0)
REFUSE(ibv_import_mr, 0)
REFUSE(ibv_unimport_mr, 0)
REFUSE(ibv_import_dm, 0)
REFUSE(ibv_unimport_dm, 0)
REFUSE(ibv_reg_dmabuf_mr, 0)
REFUSE(ibv_resolve_eth_l2_from_gid, EOPNOTSUPP)
ANSWER(ibv_query_qp_data_in_order, 0)
ANSWER(ibv_fork_init, 0)
ANSWER(ibv_is_fork_initialized, IBV_FORK_UNNEEDED)
ANSWER(ibv_dontfork_range, 0)
ANSWER(ibv_dofork_range, 0)

/* The adapter has no options. */
EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	OVERRIDE(ibv_set_ece, qp, ece);
	if (!ece->vendor_id && !ece->options && !ece->comp_mask)
		return 0;
	refuse("ibv_set_ece");
	return EOPNOTSUPP;
}

/* Those who connect ask this of every queue pair, so that it is not said. */
ANSWER(ibv_query_ece, EOPNOTSUPP)

#define OF_TABLE(PLACE)                                                                            \
	PLACE(advise_mr, EOPNOTSUPP)                                                               \
	PLACE(alloc_null_mr, 0)                                                                    \
	PLACE(read_counters, EOPNOTSUPP)                                                           \
	PLACE(attach_counters_point_flow, EOPNOTSUPP)                                              \
	PLACE(create_counters, 0)                                                                  \
	PLACE(destroy_counters, EOPNOTSUPP)                                                        \
	PLACE(modify_flow_action_esp, EOPNOTSUPP)                                                  \
	PLACE(destroy_flow_action, EOPNOTSUPP)                                                     \
	PLACE(create_flow_action_esp, 0)                                                           \
	PLACE(modify_qp_rate_limit, EOPNOTSUPP)                                                    \
	PLACE(destroy_rwq_ind_table, EOPNOTSUPP)                                                   \
	PLACE(create_rwq_ind_table, 0)                                                             \
	PLACE(destroy_wq, EOPNOTSUPP)                                                              \
	PLACE(modify_wq, EOPNOTSUPP)                                                               \
	PLACE(create_wq, 0)                                                                        \
	PLACE(query_rt_values, EOPNOTSUPP)                                                         \
	PLACE(open_qp, 0)                                                                          \
	PLACE(get_srq_num, EOPNOTSUPP)                                                             \
	PLACE(open_xrcd, 0)                                                                        \
	PLACE(close_xrcd, EOPNOTSUPP)                                                              \
	PLACE(ibv_create_flow, 0)                                                                  \
	PLACE(ibv_destroy_flow, EOPNOTSUPP)

#define REFUSED(name, answer)                                                                      \
	static long no_##name(void)                                                                \
	{                                                                                          \
		refuse(#name);                                                                     \
		return answer;                                                                     \
	}
OF_TABLE(REFUSED)

void refuse_rest(struct verbs_context *context)
{
#define FILL(name, answer)                                                                         \
	if (!context->name)                                                                        \
		context->name = (void *)no_##name;
	OF_TABLE(FILL)
}
