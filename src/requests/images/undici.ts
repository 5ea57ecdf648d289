/** What fetching images needs of undici; a module of its own, so that the rest of it is left out of the executable. */

export { Agent, DecoratorHandler, fetch } from "undici";
