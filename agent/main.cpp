#include "agent/app.hpp"

int main(int argc, char** argv) { return wattle::agent::run_app(argc, argv); }
