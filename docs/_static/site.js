// Each picture is a link to its file, which a reader on a phone can enlarge.
for (const picture of document.querySelectorAll(".bd-article img[src*='_images/']:not(.sphx-glr-thumbcontainer img)")) {
  const link = document.createElement("a");
  link.href = picture.src;
  picture.replaceWith(link);
  link.append(picture);
}
