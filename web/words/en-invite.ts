export const invite = {
  invite: {
    title: 'Your invitation',
    heading: 'Create your account',
    lead: 'You are invited. Choose a username and a password, or continue with a provider below.',
    leadWithoutProviders: 'You are invited. Choose a username and a password.',
    fixedAddress: 'The invitation is for this address.',
    sameAddress: 'At the provider, use an account with the address {email}.',
    noLink: 'To accept an invitation, open the link in the email that you got.',
    signedIn: 'You are signed in as {username}. This invitation is for a new account with the address {email}.',
    notNeeded:
      'You are signed in, and need no invitation. This one has expired, was already used, or is for another address.',
    signOut: 'Sign out and use the invitation',
    toAccount: 'Go to your account',
  },
}
