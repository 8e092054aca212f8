import type { Application } from '../applications/application.js'

/** RFC 8252, 7.3: a program on the user's own machine listens on whatever port is free. */
const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(?=[/?]|$)/

const withoutPort = (address: string) => address.replace(loopback, '$1')

/** Byte for byte (RFC 9700, 4.1.3): what a URL parser would make of the address does not matter. */
export const isRegistered = (
  { kind, redirectAddresses }: Pick<Application, 'kind' | 'redirectAddresses'>,
  address: string,
) => {
  if (redirectAddresses.includes(address)) return true
  if (kind !== 'native' || !loopback.test(address)) return false
  return redirectAddresses.some((each) => loopback.test(each) && withoutPort(each) === withoutPort(address))
}

/** The address with what the application is told. Nothing that is registered is written in another way. */
export const withAnswer = (address: string, answer: Readonly<Record<string, string | undefined>>) => {
  const told = Object.entries(answer).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams(told)}`
}
