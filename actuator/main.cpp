#include "actuator/app.hpp"

int main(int argc, char** argv) { return wattle::actuator::run_app(argc, argv); }
