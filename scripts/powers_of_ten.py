#!/usr/bin/env python3
"""Writes api/number/powers_of_ten.c to standard output:  scripts/powers_of_ten.py > api/number/powers_of_ten.c

Before it writes, it checks the claims of api/number/powers_of_ten.h over the whole table.
"""
POWER_MIN, POWER_MAX = -342, 324


def floor_log2(q):
    """floor(log2(10^q)), exactly."""
    return (10**q).bit_length() - 1 if q >= 0 else -((10**-q - 1).bit_length())


def significand(q):
    """floor(10^q / 2^(floor_log2(q) - 127)): 10^q's first 128 bits."""
    shift = 127 - floor_log2(q)
    if q < 0:
        return (1 << shift) // 10**-q
    return 10**q << shift if shift >= 0 else 10**q >> -shift


def main():
    powers = range(POWER_MIN, POWER_MAX + 1)
    for q in powers:
        assert 1 << 127 <= significand(q) < 1 << 128
        assert (q * 217706) >> 16 == floor_log2(q)
        assert significand(q) >> 64 != 2**64 - 1 and significand(q) % 2**64 != 2**64 - 1

    print("/* Written by scripts/powers_of_ten.py. */")
    print('#include "api/number/powers_of_ten.h"\n')
    print("/* clang-format off */")
    print("const uint64_t powers_of_ten_exact[POWERS_OF_TEN_EXACT_MAX + 1] = {")
    for n in range(0, 20, 4):
        print("    " + " ".join(f"{10**i}u," for i in range(n, n + 4)))
    print("};\n")
    print("const struct power_of_ten powers_of_ten[POWERS_OF_TEN_MAX - POWERS_OF_TEN_MIN + 1] = {")
    rows = [f"{{0x{significand(q) >> 64:016x}, 0x{significand(q) % 2**64:016x}}}," for q in powers]
    for i in range(0, len(rows), 2):
        print("    " + " ".join(rows[i : i + 2]))
    print("};")


if __name__ == "__main__":
    main()
