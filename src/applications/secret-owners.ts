import { equalInConstantTime, fingerprint } from '../lib/random.js'

/** The hash of a secret of an application, with the id and the name of the application. */
export type SecretHash = { id: string; name: string; hash: Buffer }

/** The applications that have this secret. Every hash is compared, so that the time does not show which one was right. */
export const ownersAmong = (hashes: readonly SecretHash[], secret: string) => {
  const givenHash = fingerprint(secret)
  return hashes.filter(({ hash }) => equalInConstantTime(hash, givenHash)).map(({ id, name }) => ({ id, name }))
}
