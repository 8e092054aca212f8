import type { Config } from '../config.js'

const shortest = 4

/** The password of an address, as it is written there and as it is meant. */
const passwordsIn = (address: string) => {
  const [, , written = ''] = /^[a-z+]+:\/\/([^:@/]*):([^@/]*)@/.exec(address) ?? []
  try {
    return [written, decodeURIComponent(written)]
  } catch {
    return [written]
  }
}

/** No check says a secret. If a library or a server ever repeated one in its words, it would end here. */
export const hideSecrets = (config: Config) => {
  const { databaseUrl = '', databaseOwnerUrl = '', redisUrl = '', smtpUrl, jwtSecret = [] } = config
  const { providerAClientSecret = '', providerBClientSecret = '' } = config
  const secrets = [
    ...[databaseUrl, databaseOwnerUrl, redisUrl].flatMap((address) => [address, ...passwordsIn(address)]),
    ...[...jwtSecret, providerAClientSecret, providerBClientSecret, smtpUrl?.auth?.pass ?? ''],
  ].filter((secret) => secret.length >= shortest)
  return (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
}
