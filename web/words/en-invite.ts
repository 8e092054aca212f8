export const invite = {
  invite: {
    title: 'Your invitation',
    heading: 'Create your account',
    lead: 'You are invited. Choose a username and a password, or continue with a provider below.',
    leadWithoutProviders: 'You are invited. Choose a username and a password.',
    fixedAddress: 'The invitation is for this address.',
    sameAddress: 'At the provider, use an account with the address {email}.',
    noLink: 'To accept an invitation, open the link in the email that you got.',
    tryAgain: 'Try again',
  },
}
