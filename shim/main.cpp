#include "shim/app.hpp"

int main(int argc, char** argv) { return wattle::shim::run_app(argc, argv); }
