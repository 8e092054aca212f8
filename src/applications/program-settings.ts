import { type KnownProgram, knownPrograms } from '../contract/configuration.js'

/** The values that are filled into the settings of a program. */
type SettingValues = { id: string; secret: string; issuer: string; name: string; home: string }

type Program = {
  /** All paths are below the address at which users open the program (--home). */
  redirectPath: string
  backchannelPath?: string
  /** The path to which users come back after the program has signed them out here. */
  logoutPath?: string
  /** Whether it sends no PKCE challenge. */
  noPkce?: true
  /** The sentences are comments, so that all of it can be pasted. */
  settings(values: SettingValues): string
}

export const programNames = knownPrograms
export type ProgramName = KnownProgram

const grafana: Program = {
  redirectPath: '/login/generic_oauth',
  logoutPath: '/login',
  settings: ({ id, secret, issuer, home }) => `# Lines for grafana.ini:

[server]
root_url = ${home}/
[auth.generic_oauth]
enabled = true
name = Latchkey
client_id = ${id}
client_secret = ${secret}
scopes = openid profile email groups
auth_url = ${issuer}/authorize
token_url = ${issuer}/token
api_url = ${issuer}/userinfo
login_attribute_path = preferred_username
name_attribute_path = name
groups_attribute_path = groups
use_pkce = true
use_refresh_token = true
allow_sign_up = true
signout_redirect_url = ${issuer}/end-session?client_id=${id}&post_logout_redirect_uri=${encodeURIComponent(`${home}/login`)}

# Roles by group, if you want them: role_attribute_path = contains(groups[*], 'admins') && 'Admin' || 'Viewer'
# Grafana knows a user again by sub, the id of the account here. Leave oauth_allow_insecure_email_lookup off: with it, the same email
# would be enough. Grafana does not listen to logout notices: a user who signs out here stays signed in there until Grafana asks for a
# new token, which is refused.`,
}

const gitea: Program = {
  redirectPath: '/user/oauth2/latchkey/callback',
  logoutPath: '/',
  noPkce: true,
  settings: ({ id, secret, issuer }) => `# Command on the machine of Gitea (or Forgejo: forgejo):

gitea admin auth add-oauth --name latchkey --provider openidConnect \\
  --key '${id}' --secret '${secret}' \\
  --auto-discover-url '${issuer}/.well-known/openid-configuration' \\
  --scopes openid --scopes profile --scopes email --scopes groups --group-claim-name groups

# Lines for app.ini, so that a user who signs in gets an account with the same name:

[oauth2_client]
ENABLE_AUTO_REGISTRATION = true
USERNAME = preferred_username
ACCOUNT_LINKING = login

# Gitea knows a user again by sub, the id of the account here. With ACCOUNT_LINKING = login the owner of an account that is
# there already has to prove its password once; auto would link by name or email alone. Gitea sends no PKCE challenge and does not
# listen to logout notices: a user who signs out here stays signed in there until the session there ends.`,
}

const nextcloud: Program = {
  redirectPath: '/apps/user_oidc/code',
  backchannelPath: '/apps/user_oidc/backchannel-logout/latchkey',
  settings: ({ id, secret, issuer }) => `# Commands on the machine of Nextcloud (its app user_oidc):

occ app:install user_oidc
occ config:system:set user_oidc use_pkce --type boolean --value true
occ user_oidc:provider latchkey --clientid='${id}' --clientsecret='${secret}' \\
  --discoveryuri='${issuer}/.well-known/openid-configuration' \\
  --scope='openid profile email groups' --mapping-uid=sub --unique-uid=1 \\
  --mapping-display-name=name --mapping-email=email --mapping-groups=groups --group-provisioning=1

# Nextcloud knows a user again by sub, the id of the account here (--mapping-uid=sub). Nextcloud listens to logout notices. If its
# addresses contain /index.php, say so with --home https://cloud.example.com/index.php.`,
}

export const programs: Readonly<Record<ProgramName, Program>> = { grafana, gitea, nextcloud }

/** The settings of every other program, with the names that OpenID Connect uses. */
export const generalSettings = (id: string, secret: string | undefined, issuer: string) =>
  [
    ['client_id', id],
    ...(secret === undefined ? [] : [['client_secret', secret]]),
    ['issuer', issuer],
    ['discovery', `${issuer}/.well-known/openid-configuration`],
    ['scopes', 'openid profile email groups'],
  ]
    .map(([name = '', value = '']) => `${name.padEnd(13)}  ${value}`)
    .join('\n')
