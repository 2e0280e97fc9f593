// The main() of the unit tests; it is alone here because doctest's own implementation compiles slowly.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
