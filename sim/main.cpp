#include "sim/app.hpp"

int main(int argc, char** argv) { return wattle::sim::run_app(argc, argv); }
