const addressShape = /^[\da-f.:]{2,45}$/i

/** Who the client is. The service believes the address if `TRUST_PROXY` names this program. */
export type ClientOfRequest = { userAgent: string | undefined; address: string | undefined }

/** What the service is told about the client of a request that it is asked about. */
export const clientHeaders = ({ userAgent, address }: ClientOfRequest): Record<string, string> => ({
  ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
  ...(address !== undefined && addressShape.test(address) ? { 'x-forwarded-for': address } : {}),
})
