import { AsyncResource } from 'node:async_hooks'

/**
 * For a background job that requests wake up. A timer or a promise belongs to the context in which it is made: a job that is woken
 * inside of a transaction would seem to be a part of it, and the database would refuse its statements. What runs here has the
 * context in which the job was created instead.
 */
export const createDetachedContext = (name: string) => {
  const resource = new AsyncResource(name)
  return <Result>(work: () => Result) => resource.runInAsyncScope(work)
}
