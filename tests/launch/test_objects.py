"""What programs make of an adapter is counted, and refused, as the kernel does."""

from pathlib import Path

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.launch.test_time import compiled
from tests.programs import header

MAKE = """
    #include <infiniband/verbs.h>
    #define SAY(call) printf("%d ", call)
    static char bytes[64];
    int main(void)
    {
        struct ibv_context *context = ibv_open_device(*ibv_get_device_list(NULL));
        struct ibv_pd *pd = ibv_alloc_pd(context);
        struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
        struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
        struct ibv_srq *srq = ibv_create_srq(pd, &shared);
        struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD};
"""


def ran(source: str, tmp_path: Path) -> None:
    header("infiniband/verbs.h", "libibverbs-dev")
    made = compiled(tmp_path, MAKE + source + "}", "-libverbs")
    assert launch(find_machine("liu2004", {}, mpi=False), [[made]]).codes == (0,)


def test_an_object_that_others_use_is_not_destroyed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        struct ibv_mr *mr = ibv_reg_mr(pd, bytes, 64, 0);
        attr.srq = srq;
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        SAY(ibv_dealloc_pd(pd)); SAY(ibv_destroy_srq(srq)); SAY(ibv_destroy_cq(cq));
        SAY(ibv_destroy_qp(qp)); SAY(ibv_destroy_cq(cq)); SAY(ibv_dealloc_pd(pd));
        SAY(ibv_destroy_srq(srq)); SAY(ibv_dealloc_pd(pd));
        SAY(ibv_dereg_mr(mr)); SAY(ibv_dealloc_pd(pd));
    """
    ran(source, tmp_path)
    assert capfd.readouterr().out == "16 16 16 0 0 16 0 16 0 0 "


def test_a_queue_without_entries_takes_no_request(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
        struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *no_send;
        struct ibv_recv_wr receive = {0}, *no_receive;
        int how = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
        send.wr.ud.ah = ibv_create_ah(pd, &(struct ibv_ah_attr){.dlid = 1, .port_num = 1});
        SAY(ibv_modify_qp(qp, &to, how));
        to.qp_state = IBV_QPS_RTR;
        SAY(ibv_modify_qp(qp, &to, IBV_QP_STATE));
        to.qp_state = IBV_QPS_RTS;
        SAY(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN));
        SAY(attr.cap.max_send_wr); SAY(ibv_post_send(qp, &send, &no_send));
        SAY(attr.cap.max_recv_wr); SAY(ibv_post_recv(qp, &receive, &no_receive));
    """
    ran(source, tmp_path)
    assert capfd.readouterr().out == "0 0 0 0 12 0 12 "
