const addressShape = /^[\da-f.:]{2,45}$/i

/** The client of a request. The service believes the IP address if `TRUST_PROXY` names this program. */
export type ClientOfRequest = { userAgent: string | undefined; address: string | undefined }

/** The headers that tell the service about the client of a request. */
export const clientHeaders = ({ userAgent, address }: ClientOfRequest): Record<string, string> => ({
  ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
  ...(address !== undefined && addressShape.test(address) ? { 'x-forwarded-for': address } : {}),
})
