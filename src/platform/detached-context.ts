import { AsyncResource } from 'node:async_hooks'

/**
 * Runs a background job that is woken by requests. A timer or a promise belongs to the context in which it is made, so a job that is woken
 * inside of a transaction would seem to be part of it, and the database would refuse its statements. Here the job runs in the context in
 * which it was created instead.
 */
export const createDetachedContext = (name: string) => {
  const resource = new AsyncResource(name)
  return <Result>(work: () => Result) => resource.runInAsyncScope(work)
}
