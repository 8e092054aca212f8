/** Whether a host is this machine itself: `localhost`, 127.0.0.0/8 or ::1, which a URL writes in brackets. */
export const isLoopback = (host: string) => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host)

/** Whether the host of a server is this machine. A name below `localhost` and the folder of a socket are this machine, too. */
export const isThisMachine = (host: string) => isLoopback(host) || host.endsWith('.localhost') || host.startsWith('/')
