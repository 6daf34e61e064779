/* What programs draw at random is the same in each run: seeds are, whatever they are made of. */
#define _GNU_SOURCE
#include "channel.h"
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Of SplitMix64, begun by the rank of the program; threads draw in the order of their turns. */
static uint64_t drawn(void)
{
	static uint64_t state;
	static bool begun;
	uint64_t mixed;

	if (!begun) {
		const char *rank = getenv("HCASIM_RANK");

		state = rank ? strtoull(rank, NULL, 10) : 0;
		begun = true;
	}
	state += 0x9e3779b97f4a7c15;
	mixed = state;
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return mixed ^ mixed >> 31;
}

EXPORT void srand(unsigned int seed)
{
	BEHIND(srand)(taking_part() ? (unsigned int)drawn() : seed);
}

EXPORT void srandom(unsigned int seed)
{
	BEHIND(srandom)(taking_part() ? (unsigned int)drawn() : seed);
}

EXPORT void srand48(long seed)
{
	BEHIND(srand48)(taking_part() ? (long)drawn() : seed);
}

EXPORT ssize_t getrandom(void *to, size_t size, unsigned int flags)
{
	char *next = to;

	if (!taking_part())
		return BEHIND(getrandom)(to, size, flags);
	for (size_t left = size; left;) {
		uint64_t word = drawn();
		size_t part = left < sizeof(word) ? left : sizeof(word);

		memcpy(next, &word, part);
		next += part;
		left -= part;
	}
	return size;
}

EXPORT int getentropy(void *to, size_t size)
{
	if (!taking_part())
		return BEHIND(getentropy)(to, size);
	if (size > 256) {
		errno = EIO;
		return -1;
	}
	getrandom(to, size, 0);
	return 0;
}
