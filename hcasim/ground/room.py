"""Room in memory, looked for where its lack would end a process or keep it waiting."""


def look_for_room(size: int) -> None:
    """Find out whether there is room, in what a process may use of its address space.

    Parameters:
        size: bytes.

    Raises:
        MemoryError: if there is not.
    """
    import mmap

    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError from error
