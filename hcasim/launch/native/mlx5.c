/* What programs ask libmlx5 of a device before they use its own functions, none of which work here.
 *
 * Source: rdma-core, providers/mlx5/mlx5dv.h.
 */
#include "interface.h"

#include <errno.h>
#include <string.h>

enum { MLX5DV_CONTEXT_FLAGS_BLUEFLAME = 1 << 8 };

/* Its beginning: the rest says more of features that the mask names. */
struct mlx5dv_context {
	uint8_t version;
	uint64_t flags;
	uint64_t comp_mask;
};

static bool begins(const struct ibv_device *device, const char *name)
{
	return !strncmp(device->name, name, strlen(name));
}

EXPORT bool mlx5dv_is_supported(struct ibv_device *device)
{
	OVERRIDE(mlx5dv_is_supported, device);
	return begins(device, "mlx5_");
}

/* Programs such as perftest ask this of all adapters of their maker, and end without an answer. */
EXPORT int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *found)
{
	OVERRIDE(mlx5dv_query_device, context, found);
	if (!begins(context->device, "mlx") && !begins(context->device, "mthca"))
		return EOPNOTSUPP;
	found->version = 0;
	found->flags = begins(context->device, "mlx") ? MLX5DV_CONTEXT_FLAGS_BLUEFLAME : 0;
	found->comp_mask = 0;
	return 0;
}
