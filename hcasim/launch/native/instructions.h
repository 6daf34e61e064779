/* What an instruction does to a loop that has it. */
#ifndef HCASIM_INSTRUCTIONS_H
#define HCASIM_INSTRUCTIONS_H

enum doing {
	REPEATS, /* If registers recur, so does what it writes; or it writes nothing. */
	CHANGES, /* It may change what registers do not show, or is not known here. */
	CALLS,	 /* It calls the system, or reads the clock, or could see that it is stepped through. */
};

enum doing what_does(const unsigned char *instruction);

#endif
