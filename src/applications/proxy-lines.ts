export const proxyNames = ['caddy', 'nginx', 'traefik', 'haproxy'] as const
export type ProxyName = (typeof proxyNames)[number]

/** Lines to paste: those for all applications, and those for one. */
type ProxyLines = {
  /** Where our file goes, below deploy/forward-auth. */
  files: string
  /** `own` is the address of Latchkey itself. */
  once(own: URL): string
  /** For the site of one application, which listens on this machine. */
  site(site: URL): string
}

/** Where the files and lines say that Latchkey listens. */
export const ownListener = '127.0.0.1:3000'
/** Where the lines say that the application listens. */
export const exampleListener = '127.0.0.1:8080'
/** The other proxies have it in their files. */
const metadataPath = '/.well-known/oauth-protected-resource'

const portOf = ({ protocol, port }: URL) => port || (protocol === 'https:' ? '443' : '80')

/** The name of a part of a configuration. Two sites of one host differ in their ports. */
const partName = ({ hostname, port }: URL) => `${hostname}${port && `-${port}`}`.replaceAll(/[^a-z\d-]/g, '-')

const caddyAddress = (site: URL) => (site.protocol === 'https:' && site.port === '' ? site.hostname : site.origin)

const caddy: ProxyLines = {
  files: 'latchkey.caddyfile goes beside the Caddyfile',
  once: (own) => `import latchkey.caddyfile\n\n${caddyAddress(own)} {\n\treverse_proxy ${ownListener}\n}`,
  site: (site) => {
    return `${caddyAddress(site)} {\n\timport latchkey\n\treverse_proxy ${exampleListener}\n}`
  },
}

const nginx: ProxyLines = {
  files: 'latchkey.nginx.conf and latchkey.nginx-headers.conf go into /etc/nginx/snippets',
  // A host that no server has would otherwise get the first one, under the name that the visitor chose.
  once: (own) => `server {
    listen ${portOf(own)} ssl default_server;
    ssl_reject_handshake on;
}
# Each server with TLS needs ssl_certificate and ssl_certificate_key, here or in it.
server {
    listen ${portOf(own)}${own.protocol === 'https:' ? ' ssl' : ''};
    server_name ${own.hostname};
    location / {
        proxy_pass http://${ownListener};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}`,
  site: (site) => `server {
    listen ${portOf(site)}${site.protocol === 'https:' ? ' ssl' : ''};
    server_name ${site.hostname};
    include snippets/latchkey.nginx.conf;
    location / {
        proxy_pass http://${exampleListener};
    }
}`,
}

const traefik: ProxyLines = {
  files: 'latchkey.traefik.yaml goes into the folder of providers.file',
  once: (own) =>
    [
      'http:',
      '  routers:',
      '    latchkey:',
      `      rule: Host(\`${own.hostname}\`)`,
      '      service: latchkey',
      ...(own.protocol === 'https:' ? ['      tls: {}'] : []),
    ].join('\n'),
  site: (site) => {
    const name = partName(site)
    const host = `Host(\`${site.hostname}\`)`
    const tls = (router: string) => (site.protocol === 'https:' ? [`  - traefik.http.routers.${router}.tls=true`] : [])
    return [
      'labels:',
      `  - traefik.http.routers.${name}.rule=${host}`,
      ...tls(name),
      `  - traefik.http.routers.${name}.middlewares=latchkey@file`,
      '  # Where programs find out how to get a token for a resource of this host (latchkey resource add):',
      `  - traefik.http.routers.${name}-metadata.rule=${host} && PathPrefix(\`${metadataPath}\`)`,
      ...tls(`${name}-metadata`),
      `  - traefik.http.routers.${name}-metadata.service=latchkey@file`,
    ].join('\n')
  },
}

const haproxy: ProxyLines = {
  files: 'latchkey.lua goes into /etc/haproxy, and the lines of latchkey.haproxy.cfg into haproxy.cfg',
  once: (own) => `# In the frontend, one line for each application, this one, and no default_backend:
    use_backend sign-in if { req.hdr(host),host_only -i ${own.hostname} }

backend sign-in from latchkey-itself
    server sign-in ${ownListener}`,
  site: (site) => {
    const name = partName(site)
    return `    use_backend ${name} if { req.hdr(host),host_only -i ${site.hostname} }

backend ${name} from latchkey
    server ${name} ${exampleListener}`
  },
}

export const proxyLines: Readonly<Record<ProxyName, ProxyLines>> = { caddy, nginx, traefik, haproxy }

/**
 * What an operator does so that this proxy asks us about the visitors of the site. The sentences are comments, so that all of it can be
 * pasted.
 */
export const proxySettings = (proxy: ProxyName, origin: string, own: string, name: string) => {
  const { files, once, site } = proxyLines[proxy]
  return `# Once for all applications: ${files} (all from deploy/forward-auth). They and these lines say that Latchkey
# listens at ${ownListener}. TRUST_PROXY names the address from which the proxy connects to it. Then:

${once(new URL(own))}

# For ${origin}, with the address of the application instead of ${exampleListener}:

${site(new URL(origin))}

# When the proxy has read it again: ${name}`
}
